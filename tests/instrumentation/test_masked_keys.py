"""A business key is masked only when its path is named, and then everywhere."""

import pytest

from flink_agents_eventlog.commands import main
from flink_agents_eventlog.masking import MASKING_SECRET, masked_key
from hosting import local_runner, log_lines
from memory_agents import HEARD, Observer
from opentelemetry.instrumentation.flink_agents import Masking
from probing import play
from providing import MemoryProvider

KEY = "jo@example.com"
HASHED = masked_key(KEY, "a secret")
MASK = Masking(keys=["Business_Key"], secret="a secret")


def text_of(folder):
    return "".join(path.read_text() for path in folder.iterdir())


def keys_of(folder):
    return {line["business_key"] for line in log_lines(folder)}


@pytest.mark.memory
def test_a_named_key_is_hashed_in_the_log_and_on_spans(instrument, tmp_path):
    HEARD.clear()
    provider = MemoryProvider()
    instrument(tracer_provider=provider, mask=MASK, options={"agent-run.end-event": 1})

    local_runner(Observer()).run(key=KEY, value={"path": 1})

    lines = log_lines(tmp_path / "log")
    assert {line["business_key"] for line in lines} == {HASHED}
    told = [line["event_attributes"].get("key", HASHED) for line in lines]
    assert set(told) == {HASHED}
    assert KEY not in text_of(tmp_path / "log")
    named = {span.attributes["flink_agents.business_key"] for span in provider.spans}
    assert named == {HASHED}
    assert KEY not in "".join(span.to_json() for span in provider.spans)


@pytest.mark.memory
def test_the_agent_itself_gets_the_key_as_it_is(instrument):
    HEARD.clear()
    instrument(mask=MASK)

    local_runner(Observer()).run(key=KEY, value={"path": 1})

    [(event, _)] = HEARD
    assert event.key == KEY
    HEARD.clear()


def test_keys_are_told_apart_and_the_same_key_is_the_same_text(instrument, tmp_path):
    instrument(mask=MASK)

    for key in (KEY, "other", 7, KEY):
        play(lambda *_: None, key=key)

    runs = [line["business_key"] for line in log_lines(tmp_path / "log")[::3]]
    assert runs == [masked_key(each, "a secret") for each in (KEY, "other", "7", KEY)]


def test_the_hash_is_that_of_every_version():
    assert masked_key("customer-7", "a secret") == (
        "masked:c8983c1ac142f24c833d055cfd9a99a0"
    )
    assert masked_key("customer-7", "another") != masked_key("customer-7", "a secret")
    assert masked_key("\ud83d", "\ud83d").startswith("masked:")


def test_the_secret_may_be_in_the_environment(instrument, tmp_path, monkeypatch):
    monkeypatch.setenv(MASKING_SECRET, "a secret")
    instrument(mask=Masking(keys=["business_key"]))

    play(lambda *_: None, key=KEY)

    assert keys_of(tmp_path / "log") == {HASHED}


def test_without_a_secret_it_is_refused():
    with pytest.raises(ValueError, match=f"needs a secret.*{MASKING_SECRET}"):
        Masking(keys=["business_key"])


@pytest.mark.parametrize("asked", [KEY, HASHED])
def test_who_has_the_secret_finds_the_runs_of_a_key(
    asked, instrument, tmp_path, monkeypatch, capsys
):
    instrument(mask=MASK)
    for key in (KEY, "other"):
        play(lambda *_: None, key=key)
    monkeypatch.setenv(MASKING_SECRET, "a secret")

    status = main(["tree", str(tmp_path / "log"), "--key", asked])

    [title, *_] = capsys.readouterr().out.splitlines()
    assert (status, HASHED in title) == (0, True)


@pytest.mark.parametrize(
    "mask", [lambda *_: "hidden", Masking(keys=["key", "other"]), Masking.secrets()]
)
def test_a_key_that_is_not_named_stays_readable(mask, instrument, tmp_path):
    instrument(mask=mask)

    play(lambda *_: None, key=KEY)

    assert keys_of(tmp_path / "log") == {KEY}


class OfTheirOwn:
    def __call__(self, path, value):
        return value

    def business_key(self, key):
        return {"known": "somebody"}[key]


def test_a_mask_of_ones_own_may_say_what_stands_for_a_key(instrument, tmp_path):
    instrument(mask=OfTheirOwn())

    play(lambda *_: None, key="known")

    assert keys_of(tmp_path / "log") == {"somebody"}


def test_a_mask_that_fails_hides_the_key(instrument, tmp_path):
    instrument(mask=OfTheirOwn())

    runner = play(lambda *_: None, key="unknown")

    assert runner.get_outputs() == []
    assert keys_of(tmp_path / "log") == {"***"}
