"""Calls of embedding models are spans where a run is, and nothing anywhere else."""

from typing import Any

import pytest
from flink_agents.api.embedding_models.embedding_model import (
    BaseEmbeddingModelConnection,
    BaseEmbeddingModelSetup,
)
from flink_agents.api.resource import ResourceDescriptor, ResourceType

from hosting import brief, local_runner, log_lines
from opentelemetry.instrumentation.flink_agents import uninstrument
from probing import Stage, perform
from providing import MemoryProvider

pytestmark = pytest.mark.memory


class LengthConnection(BaseEmbeddingModelConnection):
    """Embeds a text as its length."""

    def embed(self, text: Any, **_: Any) -> Any:
        if not text:
            raise ValueError("nothing to embed")
        return [float(len(text))]


class LengthSetup(BaseEmbeddingModelSetup):
    @property
    def model_kwargs(self) -> dict[str, Any]:
        return {}


class Doubled(LengthSetup):
    """Overrides `embed` and asks its base class too."""

    def embed(self, text: Any, **kwargs: Any) -> Any:
        return [2 * each for each in super().embed(text, **kwargs)]


def embed(text, setup="LengthSetup"):
    """Run an action that embeds `text`; return what it got."""
    agent = Stage()
    here = LengthConnection.__module__
    agent.add_resource(
        "connection",
        ResourceType.EMBEDDING_MODEL_CONNECTION,
        ResourceDescriptor(clazz=f"{here}.LengthConnection"),
    )
    agent.add_resource(
        "embedder",
        ResourceType.EMBEDDING_MODEL,
        ResourceDescriptor(
            clazz=f"{here}.{setup}", connection="connection", model="length-1"
        ),
    )
    seen = []

    def body(_, ctx):
        model = ctx.get_resource("embedder", ResourceType.EMBEDDING_MODEL)
        seen.append(model)
        seen.append(model.embed(text))

    perform(local_runner(agent), body)
    return seen


@pytest.fixture
def spans(instrument):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)
    return lambda: [span for span in provider.spans if span.name.startswith("embed")]


def test_a_call_is_a_client_span_of_its_action(spans, tmp_path):
    _, vector = embed("hello")

    [span] = spans()
    assert vector == [5.0]
    assert (span.name, span.kind.name) == ("embeddings length-1", "CLIENT")
    assert {
        name: value
        for name, value in span.attributes.items()
        if name.startswith("gen_ai.")
    } == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": "LengthSetup",
        "gen_ai.request.model": "length-1",
    }
    # In the log it is part of the story of its action.
    assert brief(log_lines(tmp_path / "log")) == [
        "_input_event",
        "_agent_run_begin_event",
        "action act started",
        "action act finished",
    ]


@pytest.mark.parametrize("setup", ["LengthSetup", "Doubled"])
def test_an_override_that_asks_its_base_class_is_one_call(spans, setup):
    embed("hello", setup)

    assert len(spans()) == 1


def test_a_failed_call_fails_as_without_us(spans):
    with pytest.raises(ValueError, match="nothing to embed"):
        embed("")

    [span] = spans()
    assert span.attributes["error.type"] == "ValueError"
    assert span.status.status_code.name == "ERROR"


def test_a_text_is_not_on_the_span(spans):
    embed("a secret")

    assert "secret" not in spans()[0].to_json()


def test_outside_of_a_run_there_is_no_span(spans):
    model, _ = embed("hello")

    assert model.embed("more") == [4.0]
    assert len(spans()) == 1


def test_uninstrumented_again_the_host_has_its_own_function(instrument):
    owners = (BaseEmbeddingModelSetup, Doubled)
    before = [vars(owner)["embed"] for owner in owners]
    instrument()
    patched = [vars(owner)["embed"] for owner in owners]
    uninstrument()

    assert all(now is not then for now, then in zip(patched, before, strict=True))
    assert [vars(owner)["embed"] for owner in owners] == before
