"""A log becomes traces: whole runs, with what the log knows and nothing it does not."""

import json
import os
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from opentelemetry.context import get_value
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from core.samples import (
    ACTION_FIELDS,
    LLM_FIELDS,
    NESTED_LINE,
    at,
    lifecycle,
    one_run,
    plain,
    record,
    write,
)
from flink_agents_eventlog import convert, timestamp_ns
from flink_agents_eventlog.lifecycle import FAILED, FINISHED, INPUT_EVENT, STARTED
from flink_agents_eventlog.selection import Selection
from opentelemetry.exporter.flink_agents import BackendError, Replayed, replay
from opentelemetry.exporter.flink_agents._replay_position import PositionError
from replaying import encoded, replayed, told

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
GOLDEN = sorted((Path(__file__).parents[1] / "core" / "golden").glob("*.jsonl"))


class Backend(SpanExporter):
    """Keeps the spans of so many requests, then takes no more."""

    def __init__(self, requests: int = 1_000_000) -> None:
        self.requests = requests
        self.spans = []
        self.suppressed = set()

    def export(self, spans):
        self.suppressed.add(get_value("suppress_instrumentation"))
        if not self.requests:
            return SpanExportResult.FAILURE
        self.requests -= 1
        self.spans += spans
        return SpanExportResult.SUCCESS

    def shutdown(self):
        raise AssertionError("it is not ours")

    @property
    def told(self):
        return told(encoded(self.spans))


def sent(path, **arguments):
    """The spans of a log, and what its replay says of them."""
    backend = Backend()
    done = replay(path, exporter=backend, **arguments)
    assert done.sent == len(backend.spans)
    return list(backend.told.values()), done


def without_identity(span):
    return {
        name: value
        for name, value in span["attributes"].items()
        if not name.startswith("flink_agents.")
    }


def test_a_run_becomes_one_trace(tmp_path):
    spans, done = sent(write(tmp_path / "log", one_run()))

    run, action, llm, tool = spans
    assert [span["name"] for span in spans] == [
        "invoke_agent OrderAgent",
        "action answer",
        "chat small",
        "execute_tool search",
    ]
    assert len({span["trace"] for span in spans}) == 1
    ids = list(told(replayed(tmp_path / "log")))
    assert [span["parent"] for span in spans] == ["", ids[0], ids[1], ids[1]]
    times = [(timestamp_ns(at(a)), timestamp_ns(at(b))) for a, b in SPANS]
    assert [(span["start"], span["end"]) for span in spans] == [
        (start // 1000, end // 1000) for start, end in times
    ]
    assert [span["status"] for span in spans] == [
        (0, ""),
        (0, ""),
        (0, ""),
        (2, "no such\npage"),
    ]
    assert without_identity(llm) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.usage.input_tokens": 812,
        "gen_ai.usage.output_tokens": 93,
    }
    assert llm["attributes"]["flink_agents.llm.attempts"] == 2
    assert without_identity(tool)["error.type"] == "ValueError"
    assert action["attributes"] == {
        "flink_agents.input_run_id": "run-1",
        "flink_agents.business_key": "order-1",
        "flink_agents.agent.name": "OrderAgent",
        "flink_agents.execution.id": "action-1",
        "flink_agents.entity.type": "action",
        "flink_agents.entity.name": "answer",
        "flink_agents.event.trigger.id": "input",
        "flink_agents.event.trigger.type": "_input_event",
    }
    assert run["attributes"]["gen_ai.agent.name"] == "OrderAgent"
    assert done == Replayed(
        records=8,
        runs=1,
        spans={"run": 1, "action": 1, "llm": 1, "tool": 1},
        sent=4,
        lacking={
            "run: its trace and span id, which are derived": 1,
            "action: its trace and span id, which are derived": 1,
            "llm: its trace and span id, which are derived": 1,
            "llm: its provider": 1,
            "tool: its trace and span id, which are derived": 1,
            "tool: the id of its call": 1,
        },
    )


SPANS = [(0, 1205), (1, 1205), (2, 902), (903, 904.5)]


def test_both_dialects_give_the_same_spans(tmp_path):
    snake = write(tmp_path / "snake", one_run())
    native = write(
        tmp_path / "native", [convert(each, "native").record for each in one_run()]
    )

    assert sent(native)[0] == sent(snake)[0]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_logs_of_the_host_give_what_they_say_and_what_they_lack(path):
    spans, done = sent(path)

    runs = [span for span in spans if span["parent"] == ""]
    assert len(runs) == len({span["trace"] for span in spans}) == done.runs
    count = done.spans
    assert len(spans) == sum(count.values())
    assert done.lacking == {
        "llm: its provider": count["llm"],
        "llm: its tokens": count["llm"],
        "parser: its schema": count["parser"],
        **{
            f"{kind}: its trace and span id, which are derived": number
            for kind, number in count.items()
        },
    }
    actions = [span for span in spans if span["name"].startswith("action ")]
    caused = [span for span in actions if span["links"]]
    # The first action of a run follows its input, which no action sent.
    assert len(caused) == len(actions) - done.runs


def test_the_old_nested_form_names_no_run_and_that_is_said(tmp_path):
    path = tmp_path / "log"
    path.write_bytes((NESTED_LINE + b"\n") * 2)

    assert sent(path) == (
        [],
        Replayed(records=2, lacking={"record: the run that it belongs to": 1}),
    )


def test_what_never_ended_is_marked_and_takes_no_time(tmp_path):
    path = write(tmp_path / "log", one_run()[:3])
    os.utime(path, (0, 0))

    [run, action, llm], done = sent(path)

    backend = Backend()
    replay(path, exporter=backend)
    assert all(span.start_time == span.end_time for span in backend.spans[1:])
    assert run["end"] == llm["start"]
    marks = [
        span["attributes"].get("flink_agents.execution.incomplete")
        for span in (run, action, llm)
    ]
    assert (marks, done.incomplete) == ([True] * 3, 3)


def test_an_end_without_a_start_takes_no_time_either(tmp_path):
    lines = [record(0, "input", INPUT_EVENT)]
    lines += [lifecycle(5, FINISHED, "action-1", **ACTION_FIELDS)]

    [_, action], done = sent(write(tmp_path / "log", lines))

    assert action["start"] == action["end"]
    assert action["attributes"]["flink_agents.execution.incomplete"] is True
    assert done.incomplete == 1


def test_a_run_that_is_still_written_is_left_out(tmp_path):
    path = write(tmp_path / "log", one_run()[:3])

    assert sent(path)[0] == []
    assert sent(path)[1].still_open == 1


def test_a_run_fails_by_the_first_action_that_failed(tmp_path):
    lines = [record(0, "input", INPUT_EVENT)]
    for number in (1, 2):
        fields = {**ACTION_FIELDS, "entity_name": f"a{number}"}
        error = {"error_type": f"E{number}", "error_message": f"m{number}"}
        lines += [
            lifecycle(number, STARTED, f"x{number}", **fields),
            lifecycle(
                30 - number, FAILED, f"x{number}", **fields, event_attributes=error
            ),
        ]

    run = sent(write(tmp_path / "log", lines))[0][0]

    assert run["status"] == (2, "m2")
    assert run["attributes"]["error.type"] == "E2"


def test_the_same_execution_id_in_two_runs_is_two_spans(tmp_path):
    lines = one_run()
    for each in one_run():
        each.input_run_id = "run-2"
        lines.append(each)

    assert len(told(replayed(write(tmp_path / "log", lines)))) == 8


def test_messages_of_errors_stay_where_they_are_not_to_leave(tmp_path, monkeypatch):
    monkeypatch.setenv("OTEL_PYTHON_FLINK_AGENTS_OTLP_ERROR_MESSAGES", "false")

    tool = sent(write(tmp_path / "log", one_run()))[0][3]

    assert tool["status"] == (2, "")
    assert tool["attributes"]["error.type"] == "ValueError"


def test_calls_that_only_other_instrumentations_saw_have_no_run_around_them(tmp_path):
    ids = {"trace_id": "a" * 32, "span_id": "b" * 16}
    fields = {**LLM_FIELDS, "parent_execution_id": None, "input_run_id": "a" * 32}
    lines = [
        lifecycle(number, status, "llm-1", **fields, **ids)
        for number, status in enumerate((STARTED, FINISHED))
    ]

    backend = Backend()
    replay(write(tmp_path / "log", lines), exporter=backend)

    [(span_id, span)] = backend.told.items()
    assert (span_id, span["trace"], span["parent"]) == ("b" * 16, "a" * 32, "")


@pytest.mark.parametrize("trace_id", ["0" * 32, "no", "", "a" * 33, "-1"])
def test_ids_that_opentelemetry_does_not_allow_are_derived(trace_id, tmp_path):
    lines = [record(0, "input", INPUT_EVENT, trace_id=trace_id, span_id="x")]

    [run], _ = sent(write(tmp_path / "log", lines))

    [derived], _ = sent(write(tmp_path / "other", [record(0, "input", INPUT_EVENT)]))
    assert run == derived


def test_a_message_that_was_cut_short_is_what_there_is_of_it(tmp_path):
    lines = one_run()
    cut = {"truncatedString": "too lo...", "omittedChars": 3}
    lines[5].event_attributes["error_message"] = cut

    assert sent(write(tmp_path / "log", lines))[0][3]["status"] == (2, "too lo...")


def test_a_time_that_is_none_is_said_and_the_rest_is_sent(tmp_path):
    lines = one_run()
    for each in lines[2:4]:
        each.timestamp = "yesterday"
    lines[4].timestamp = lines[5].timestamp = "0001-01-01T00:00:00Z"

    spans, done = sent(write(tmp_path / "log", lines))

    assert [span["name"] for span in spans][1:] == ["action answer"]
    assert done.lacking["llm: any time: it is not sent"] == 1
    assert done.lacking["tool: any time: it is not sent"] == 1


def test_lone_surrogates_do_not_lose_a_request(tmp_path, monkeypatch):
    lines = one_run()
    for each in lines:
        each.business_key = each.agent_name = each.entity_name = "?"
    lines[5].event_attributes = {**lines[5].event_attributes, "output": "?"}
    path = write(tmp_path / "log", lines)
    Path(path).write_bytes(Path(path).read_bytes().replace(b'"?"', b'"\\ud83d"'))
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")

    assert len(replayed(path)) == 4


def test_content_is_on_spans_where_that_is_asked_for(tmp_path, monkeypatch):
    lines = one_run()
    lines[5].event_attributes["output"] = "x" * 1_000
    path = write(tmp_path / "log", lines)
    monkeypatch.setenv("OTEL_PYTHON_FLINK_AGENTS_OTLP_CONTENT_BYTES", "400")
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")

    llm, tool = (span["attributes"] for span in sent(path)[0][2:])

    assert tool["gen_ai.tool.call.result"] == "x" * 200
    assert tool["flink_agents.content.truncated"] is True
    assert "flink_agents.content.truncated" not in llm
    assert json.loads(llm["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": "call search"}],
            "finish_reason": "stop",
        }
    ]


@given(asked=plain, answer=plain)
@settings(max_examples=50, suppress_health_check=list(HealthCheck), deadline=None)
def test_any_content_becomes_a_text(tmp_path, asked, answer):
    message = {"role": asked, "content": answer, "tool_calls": asked, "extra_args": 5}
    lines = one_run()
    lines[2].event_attributes = {"input": [asked, message]}
    lines[4].event_attributes = {"input": asked}
    lines[5].event_attributes = lines[3].event_attributes = {"output": answer}

    with patch.dict(os.environ, {CAPTURE: "SPAN_ONLY"}):
        spans, _ = sent(write(tmp_path / "log", lines))

    assert isinstance(spans[2]["attributes"]["gen_ai.input.messages"], str)
    assert isinstance(spans[3]["attributes"]["gen_ai.tool.call.result"], str)


def test_only_chosen_runs_are_sent(tmp_path):
    path = write(tmp_path / "log", many_runs(3))

    spans, done = sent(path, selection=Selection(run="run-1"))

    assert done.runs == 1
    assert {span["attributes"]["flink_agents.input_run_id"] for span in spans} == {
        "run-1"
    }


def test_nothing_is_sent_when_it_is_only_tried(tmp_path):
    backend = Backend(requests=0)

    done = replay(write(tmp_path / "log", one_run()), exporter=backend, dry_run=True)

    assert (sum(done.spans.values()), done.sent) == (4, 0)


def test_replaying_makes_no_telemetry_of_its_own(tmp_path):
    backend = Backend()

    replay(write(tmp_path / "log", one_run()), exporter=backend)

    assert backend.suppressed == {True}
    assert get_value("suppress_instrumentation") is None


def test_the_resource_is_that_of_the_standard_variables_and_never_random(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("OTEL_SERVICE_NAME", "orders")
    backend = Backend()

    replay(write(tmp_path / "log", one_run()), exporter=backend)

    [resource] = {id(span.resource): span.resource for span in backend.spans}.values()
    assert resource.attributes["service.name"] == "orders"
    assert "service.instance.id" not in resource.attributes


def many_runs(count, actions=3):
    """Runs of keys of their own, each with so many actions."""
    for number in range(count):
        run = {"input_run_id": f"run-{number}", "business_key": f"key-{number}"}
        yield record(number, f"i{number}", INPUT_EVENT, **run)
        for action in range(actions):
            fields = {**ACTION_FIELDS, **run, "action_trigger_event_id": f"i{number}"}
            name = f"x{number}-{action}"
            yield lifecycle(number + action / 10, STARTED, name, **fields)
            yield lifecycle(number + action / 10, FINISHED, name, **fields)


def test_a_backend_that_dies_is_gone_on_with_and_gets_nothing_twice(tmp_path):
    path = write(tmp_path / "log", many_runs(600, actions=4))
    spans = []
    for requests in (0, 1, 3):
        failing = Backend(requests)
        with pytest.raises(BackendError, match="Backend does not take spans") as broken:
            replay(path, exporter=failing)
        spans += failing.spans
        assert broken.value.replayed.sent == requests * 512 == len(failing.spans)
        assert broken.value.position.exists() == bool(spans)

    last = Backend()
    done = replay(path, exporter=last)

    spans += last.spans
    ids = [(span.context.trace_id, span.context.span_id) for span in spans]
    assert len(ids) == len(set(ids)) == sum(done.spans.values()) == 3_000
    assert (done.sent, done.sent_before) == (3_000 - 4 * 512, 4 * 512)
    assert not broken.value.position.exists()


def test_what_was_sent_is_sent_again_if_that_is_asked_for(tmp_path):
    path = write(tmp_path / "log", many_runs(400))
    with pytest.raises(BackendError):
        replay(path, exporter=Backend(requests=2))

    done = replay(path, exporter=Backend(), anew=True)

    assert (done.sent, done.sent_before) == (1_600, 0)


def test_how_far_it_came_is_kept_where_it_is_told_to(tmp_path):
    path = write(tmp_path / "log", many_runs(400))
    file = tmp_path / "elsewhere" / "position"
    file.parent.mkdir()

    with pytest.raises(BackendError) as broken:
        replay(path, exporter=Backend(requests=2), resume_from=file)

    assert broken.value.position == file
    assert sorted(each.name for each in tmp_path.iterdir()) == ["elsewhere", "log"]
    assert replay(path, exporter=Backend(), resume_from=file).sent_before == 1_024


def test_a_folder_in_which_nothing_can_be_written_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    path = write(tmp_path / "log", many_runs(400))

    with pytest.raises(BackendError) as broken:
        replay(path, exporter=Backend(requests=2))

    assert broken.value.position is None
    assert [each.name for each in tmp_path.iterdir()] == ["log"]


def test_a_file_that_is_no_position_is_said(tmp_path):
    path = write(tmp_path / "log", one_run())

    with pytest.raises(PositionError, match="cannot keep the position of the replay"):
        replay(path, exporter=Backend(), resume_from=path)


def test_a_position_knows_its_backend(tmp_path):
    class Other(Backend):
        pass

    path = write(tmp_path / "log", many_runs(400))
    with pytest.raises(BackendError):
        replay(path, exporter=Backend(requests=2))

    assert replay(path, exporter=Other()).sent_before == 0


def test_records_that_come_when_their_run_was_sent_join_it(tmp_path):
    late = {"input_run_id": "run-0", "business_key": "key-0", **ACTION_FIELDS}
    end = record(0.5, "end", "_agent_run_end_event", input_run_id="run-0")
    lines = [*many_runs(1), end]
    for number in range(1, 1_100):
        run = {"input_run_id": f"run-{number}"}
        lines += [record(number, f"i{number}", INPUT_EVENT, **run)]
        lines += [record(number, f"e{number}", "_agent_run_end_event", **run)]
    lines += [
        lifecycle(5_000 + number, status, "late", **late)
        for number, status in enumerate((STARTED, FINISHED))
    ]

    spans, done = sent(write(tmp_path / "log", lines))

    [run] = [span for span in spans if span["parent"] == ""][:1]
    assert spans[-1]["parent"] != ""
    assert spans[-1]["trace"] == run["trace"]
    assert done.spans == {"run": 1_100, "action": 4}


def test_spans_of_large_attributes_go_in_small_requests(tmp_path):
    lines = []
    for number in range(20):
        lines += list(many_runs(1, actions=1))
        error = {"error_type": "E", "error_message": "x" * 100_000}
        lines[-1] = lifecycle(
            number,
            FAILED,
            "x0-0",
            **ACTION_FIELDS,
            event_attributes=error,
        )
        for each in lines[-3:]:
            each.input_run_id = f"run-{number}"
    sizes = []

    class Counting(Backend):
        def export(self, spans):
            sizes.append(sum(len(span.status.description or "") for span in spans))
            return super().export(spans)

    replay(write(tmp_path / "log", lines), exporter=Counting())

    assert sum(sizes) == 20 * 2 * 16_384
    assert max(sizes) <= 2**19
    assert len(sizes) == 2


def test_progress_is_told_on_the_way(tmp_path):
    seen = []

    replay(
        write(tmp_path / "log", many_runs(400)),
        exporter=Backend(),
        on_progress=lambda done: seen.append((done.records, done.sent)),
    )

    assert [records for records, _ in seen] == [500, 1_000, 1_500, 2_000, 2_500, 2_800]
    assert seen[-1] == (2_800, 1_600)
