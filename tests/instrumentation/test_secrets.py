"""The preset: what it hides, what it leaves alone, and that it can be switched on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosting import brief, local_runner, log_lines, output
from opentelemetry.instrumentation.flink_agents import Masking
from probing import Stage, perform, play, tool
from providing import MemoryProvider

SECRETS = {
    "OpenAI": "sk-proj-abcdefghijklmnop1234",
    "Anthropic": "sk-ant-api03-abcdefghijklmnop",
    "Stripe": "rk_live_abcdefghijklmnop1234",
    "GitHub": "ghp_abcdefghijklmnopqrstuvwx1234",
    "GitHub, fine-grained": "github_pat_11ABCDEFG0abcdefghij_klmnop",
    "GitLab": "glpat-abcdefghij_klmnop12",
    "Slack": "xoxb-123456789012-abcdefghij",
    "Google": "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
    "AWS": "AKIAIOSFODNN7EXAMPLE",
    "Hugging Face": "hf_abcdefghijklmnopqrstuvwxyz",
    "Alibaba Cloud": "LTAI5tAbCdEfGhIjKlMn",
    "JSON Web Token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl-_",
    "bearer": "Bearer abcdef0123456789ABCDEF==",
    "e-mail": "jo.doe+news@mail.example.co.uk",
    "e-mail, any script": "jörg@müller.example",
    "private key": "-----BEGIN EC PRIVATE KEY-----\nMI\n-----END EC PRIVATE KEY-----",
    "private key, cut off": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg",
}
PLAIN = (
    "",
    "the bearer of good news",
    "tokens: 1000, input_tokens=1000",
    "secret santa: no",
    "http://host:8080/path@home",
    "meet at 12:30 @ the office",
    "task-force sk-8 eyJ ghp_ AKIA",
)


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_secret_is_hidden_and_the_words_around_it_stay(secret):
    assert Masking.secrets()("event_attributes.input", secret) == "***"
    around = Masking.secrets()("event_attributes.input", f"see ({secret}")
    assert around == "see (***"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("postgres://jo:p4ss@db/orders", "postgres://***@db/orders"),
        ("GET /v1?api_key=abcd1234&page=2", "GET /v1?***&page=2"),
        ('{"password": "hunter22", "page": 2}', '{"***", "page": 2}'),
        (r"{\"client_secret\":\"hunter22\"}", r"{\"client_***\"}"),
        ("access-token = abcd1234", "access-***"),
    ],
)
def test_what_a_text_itself_calls_a_secret_is_hidden(text, written):
    assert Masking.secrets()("event_attributes.input", text) == written


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_is_left_alone(text):
    assert Masking.secrets()("event_attributes.input", text) == text


@given(before=st.text(), secret=st.sampled_from([*SECRETS.values()]), after=st.text())
def test_no_text_around_it_gives_a_secret_away(before, secret, after):
    # What touches a secret may be taken for a part of it, or for no secret at all.
    written = Masking.secrets()("event_attributes.input", f"{before} {secret} {after}")

    assert secret not in written


@pytest.mark.parametrize("name", ["password", "Authorization", "X-API-Key", "apiKey"])
def test_a_field_with_the_name_of_a_secret_is_hidden(name):
    mask = Masking.secrets()

    assert mask(f"event_attributes.input.{name}", 1234) == "***"
    assert mask(f"event_attributes.input.{name}.value", "x") == "***"


def test_it_takes_more_to_hide():
    mask = Masking.secrets(keys=["card"], patterns=[r"\d{16}"])

    assert mask("event_attributes.input.card", 1) == "***"
    assert mask("event_attributes.input.text", "4111111111111111, jo@x.org") == (
        "***, ***"
    )


def leak(**arguments):
    raise PermissionError(f"{arguments} of jo@example.com are not accepted")


def test_no_secret_reaches_the_log_or_a_span_wherever_it_stands(
    instrument, tmp_path, monkeypatch
):
    monkeypatch.setenv("OTEL_PYTHON_FLINK_AGENTS_MASK_SECRETS", "true")
    provider = MemoryProvider()
    instrument(tracer_provider=provider)
    secrets = [*SECRETS.values()]

    def work(_, ctx):
        ctx.send_event(output({"found": secrets, secrets[0]: "as a name"}))
        tool(lambda **_: secrets).call(password="hunter22", text=secrets[1])
        tool(leak).call(text=secrets[2])

    runner = local_runner(Stage())
    with pytest.raises(PermissionError):
        perform(runner, work, value={"apiKey": "hunter22", "text": " ".join(secrets)})
    perform(runner, lambda *_: None)  # brings what the failed run left

    spans = "".join(span.to_json() for span in provider.spans)
    left = (tmp_path / "log").glob("*")
    everything = spans + "".join(path.read_text() for path in left)
    for secret in [*secrets, "hunter22", "jo@example.com"]:
        assert secret.split("\n")[0] not in everything
    assert "_output_event" in brief(log_lines(tmp_path / "log"))


def test_a_mask_that_is_given_wins_over_the_variable(instrument, tmp_path, monkeypatch):
    monkeypatch.setenv("OTEL_PYTHON_FLINK_AGENTS_MASK_SECRETS", "true")
    instrument(mask=Masking(keys=["card"]))

    play(lambda *_: None, value={"card": 1, "password": 2})

    [received, *_] = log_lines(tmp_path / "log")
    assert received["event_attributes"] == {"input": {"card": "***", "password": 2}}
