"""A durable call that is answered from state did not run, and is told as `reused`.

Flink keeps results in Java. Here the host's own Flink context asks a stand-in for that
side, which has kept one result; everything in Python is the host's.
"""

import cloudpickle
import pytest
from flink_agents.api.resource import ResourceType
from flink_agents.api.vector_stores.vector_store import (
    Document,
    VectorStoreQuery,
    VectorStoreQueryResult,
)
from flink_agents.runtime.flink_runner_context import FlinkRunnerContext

from hosting import (
    in_both_dialects,
    local_runner,
    log_lines,
    told_lines,
)
from probing import chat_model, perform, play, tool
from store_agents import with_store
from telling import ended, tracing


class Kept:
    """The Java side of a context, which has kept one result or one error."""

    def __init__(self, value=None, error=None):
        self._answer = [
            True,
            None if error is not None else cloudpickle.dumps(value),
            None if error is None else cloudpickle.dumps(error),
        ]
        self.asked = []

    def matchNextOrClearSubsequentCallResult(self, function_id, digest):  # noqa: N802
        self.asked.append((function_id, digest))
        return self._answer


def flink_context(java):
    """The host's context on Flink, without a JVM."""
    context = FlinkRunnerContext.__new__(FlinkRunnerContext)
    context._j_runner_context = java
    return context


def must_not_run(*_):
    raise AssertionError("it was kept")


def outcome(java, func, *args, **kwargs):
    try:
        return flink_context(java).durable_execute(func, *args, **kwargs)
    except ValueError as error:
        return repr(error)


def as_an_action(java, func, *args, **kwargs):
    """What a durable call gives inside an action."""
    seen = []
    play(lambda *_: seen.append(outcome(java, func, *args, **kwargs)))
    return seen[0]


def test_a_tool_is_not_called_again_and_its_execution_takes_no_time(
    instrument, tmp_path
):
    bare = Kept("kept")
    assert as_an_action(bare, tool(must_not_run).call, a=1) == "kept"
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    java = Kept("kept")

    assert as_an_action(java, tool(must_not_run).call, a=1) == "kept"

    # Else a recovered job would not find what it has kept.
    assert java.asked == bare.asked
    records = [
        line
        for line in log_lines(tmp_path / "log")
        if line.get("entity_type") == "tool"
    ]
    assert [(each["status"], each["entity_metadata"]) for each in records] == [
        ("reused", {"tool_type": "function"})
    ]
    assert records[0]["event_attributes"] == {"output": "kept"}
    [span] = [each for each in exporter.get_finished_spans() if "tool" in each.name]
    assert span.end_time == span.start_time
    assert span.status.status_code.name == "UNSET"


def test_an_error_that_was_kept_is_raised_and_told(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    java = Kept(error=ValueError("as before"))

    assert as_an_action(java, tool(must_not_run).call) == "ValueError('as before')"

    [record] = ended(log_lines(tmp_path / "log"), "tool")
    assert record["status"] == "reused"
    assert record["event_attributes"] == {
        "error_type": "ValueError",
        "error_message": "as before",
    }
    [span] = [each for each in exporter.get_finished_spans() if "tool" in each.name]
    assert span.end_time == span.start_time
    assert span.attributes["error.type"] == "ValueError"


def test_a_model_is_not_asked_again(instrument, tmp_path):
    instrument()

    assert as_an_action(Kept("kept"), chat_model(must_not_run).chat, []) == "kept"

    [record] = ended(log_lines(tmp_path / "log"), "llm")
    assert record["status"] == "reused"
    assert record["event_attributes"] == {"output": "kept"}


@in_both_dialects
def test_both_dialects_tell_the_same_of_it(instrument, tmp_path):
    instrument()

    as_an_action(Kept("kept"), tool(must_not_run).call)
    as_an_action(Kept(error=ValueError("as before")), tool(must_not_run).call)

    told = [
        (line["entity_name"], line["status"], line["event_attributes"])
        for line in told_lines(tmp_path / "log")
        if line.get("entity_type") == "tool" and line["status"] != "started"
    ]
    assert [each[:2] for each in told] == [(("probe", "reused"))] * 2
    assert told[1][2]["error_message"] == "as before"


def test_a_query_that_was_kept_is_a_span_that_takes_no_time(instrument, tmp_path, key):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    kept = VectorStoreQueryResult(documents=[Document(content="a book")])
    seen = []

    def act(_, ctx):
        store = ctx.get_resource("library", ResourceType.VECTOR_STORE)
        query = VectorStoreQuery(query_text="books", limit=1)
        seen.append(outcome(Kept(kept), store.query, query))

    perform(local_runner(with_store(key)), act)

    assert seen == [kept]
    [span] = [each for each in exporter.get_finished_spans() if "retr" in each.name]
    assert span.end_time == span.start_time
    assert span.attributes["flink_agents.execution.status"] == "reused"
    [act] = ended(log_lines(tmp_path / "log"), "action")
    assert "entity_metadata" not in act


def test_what_was_not_kept_runs_and_is_told_as_ever(instrument, tmp_path):
    instrument()
    java = Kept()
    java._answer = None
    java.recordCallCompletion = lambda *_: None

    assert as_an_action(java, tool(lambda: "ran").call) == "ran"

    [record] = ended(log_lines(tmp_path / "log"), "tool")
    assert record["status"] == "finished"


@pytest.mark.parametrize("value", [None, 0, [], {"a": 1}])
def test_any_value_may_have_been_kept(instrument, tmp_path, value):
    instrument()

    assert as_an_action(Kept(value), tool(must_not_run).call) == value

    [record] = ended(log_lines(tmp_path / "log"), "tool")
    assert record["event_attributes"] == {"output": value}
