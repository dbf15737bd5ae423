"""Calls on threads and tasks: parents are right, and a thread keeps nothing."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from hosting import log_lines
from opentelemetry import trace
from probing import play, tool
from telling import ended, tracing


def parents_of(exporter, name):
    """Of each span called `name`: the name of its parent."""
    spans = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans}
    return [names[span.parent.span_id] for span in spans if span.name == name]


def test_tools_opened_on_64_threads_at_once_keep_their_parents(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    together = threading.Barrier(64)

    def inner():
        together.wait(timeout=60)
        return trace.get_current_span().get_span_context().span_id

    def outer(number):
        together.wait(timeout=60)
        mine = trace.get_current_span().get_span_context().span_id
        innermost = tool(inner).call()
        assert trace.get_current_span().get_span_context().span_id == mine
        return number, mine, innermost

    seen = []

    def act(*_):
        with ThreadPoolExecutor(64) as pool:
            calls = [
                pool.submit(copy_context().run, tool(outer).call, number)
                for number in range(64)
            ]
            seen.extend(call.result() for call in calls)

    play(act)

    tools = {
        span.context.span_id: span
        for span in exporter.get_finished_spans()
        if span.name == "execute_tool probe"
    }
    assert len(tools) == 128
    assert [number for number, _, _ in seen] == [*range(64)]
    for _, outermost, innermost in seen:
        assert tools[innermost].parent.span_id == outermost
    lines = ended(log_lines(tmp_path / "log"), "tool")
    assert len(lines) == 128
    assert {line["status"] for line in lines} == {"finished"}


def test_a_thread_that_outlives_its_action_is_no_part_of_a_later_one(
    instrument, tmp_path
):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    later, seen, threads = threading.Event(), [], []

    def linger():
        later.wait(timeout=60)
        seen.append(tool(lambda: "late", name="lingering").call())

    def start():
        threads.append(threading.Thread(target=copy_context().run, args=(linger,)))
        threads[0].start()

    def second(*_):
        later.set()
        threads[0].join(timeout=60)
        tool(lambda: "in time", name="own").call()

    play(lambda *_: tool(start).call(), key="first")
    play(second, key="second")

    assert seen == ["late"]
    tools = {
        line["entity_name"]: line["business_key"]
        for line in ended(log_lines(tmp_path / "log"), "tool")
    }
    assert tools.pop("lingering", "first") == "first"
    assert tools == {"probe": "first", "own": "second"}
    [traced] = {
        span.context.trace_id
        for span in exporter.get_finished_spans()
        if span.name == "execute_tool own"
    }
    assert sorted(
        span.name
        for span in exporter.get_finished_spans()
        if span.context.trace_id == traced
    ) == ["action act", "execute_tool own", "invoke_agent Stage"]


def test_tasks_of_a_loop_inside_a_tool_are_inside_it(instrument):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    async def one(number):
        await asyncio.sleep(0.01 * (number % 3))
        return tool(lambda: number, name="inner").call()

    async def all_of_them():
        return await asyncio.gather(*(one(number) for number in range(10)))

    seen = []
    play(lambda *_: seen.append(tool(lambda: asyncio.run(all_of_them())).call()))

    assert seen == [[*range(10)]]
    assert parents_of(exporter, "execute_tool inner") == ["execute_tool probe"] * 10


def test_a_pool_that_is_used_again_keeps_nothing_of_the_call_before(instrument):
    provider, _ = tracing()
    instrument(tracer_provider=provider)
    with ThreadPoolExecutor(1) as pool:
        play(lambda *_: pool.submit(copy_context().run, tool(int).call).result())

        current = pool.submit(trace.get_current_span).result()

    assert not current.get_span_context().is_valid
