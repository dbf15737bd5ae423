"""Our reader and the rules of the host's own reader: the same edges and warnings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.samples import at
from flink_agents_eventlog import Conversion, decode, encode, read_records, trace_forest
from native_reader import edges_of, warnings_of

GOLDEN = Path(__file__).parent / "golden"
IDS = [f"e{number}" for number in range(6)]
TYPES = ["_input_event", "sent", "sent", "_execution_started_event"]


def ours(lines):
    """Edges and warnings in the words of the host's reader."""
    found = []
    forest = trace_forest(
        [decode(json.dumps(line)) for line in lines], on_finding=found.append
    )
    edges = {
        (event.event_id, action, to)
        for event in forest.events.values()
        for action, led_to in event.effects.items()
        for to in led_to
    }
    codes = {(each.code, each.event_id) for each in found}
    circles = {code for code in codes if code[0] == "CYCLE_DETECTED"}
    if circles:
        codes = codes - circles | {("CYCLE_DETECTED", "")}
    return edges, codes


def line(time, event_id, event_type, **fields):
    return {
        "timestamp": at(time),
        **{name: value for name, value in fields.items() if value is not None},
        "eventId": event_id,
        "eventType": event_type,
        "eventAttributes": fields.get("eventAttributes", {}),
    }


@st.composite
def native_logs(draw):
    """Lines with any lineage among few ids: all that the host's reader warns of."""
    type_of = {event_id: draw(st.sampled_from(TYPES)) for event_id in IDS}
    lines = []
    for time in range(draw(st.integers(0, 10))):
        event_id = draw(st.sampled_from(IDS))
        is_execution = draw(st.booleans())
        lines.append(
            line(
                time,
                event_id,
                type_of[event_id],
                executionId="x" if is_execution else None,
                entityType=draw(st.none() | st.just("action")),
                entityName="act" if is_execution else None,
                status=draw(st.none() | st.sampled_from(["started", "success"])),
                upstreamEventId=draw(st.none() | st.sampled_from([*IDS, "gone"])),
                upstreamActionName=draw(st.none() | st.sampled_from(["act", "other"])),
                eventAttributes=draw(st.sampled_from([{}, {}, {"a": 1}, {"a": True}])),
            )
        )
    return lines


@settings(max_examples=150)
@given(native_logs())
def test_both_readers_see_the_same(lines):
    edges, warnings = ours(lines)

    expected = set(warnings_of(lines))
    assert warnings == expected
    if ("CYCLE_DETECTED", "") in expected:
        assert edges < edges_of(lines)
        assert ("CYCLE_DETECTED", "") not in warnings_of(
            [
                line(
                    time,
                    event_id,
                    "sent",
                    upstreamEventId=cause,
                    upstreamActionName=act,
                )
                for time, (cause, act, event_id) in enumerate(edges)
            ]
        )
    else:
        assert edges == edges_of(lines)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("native_*")), ids=lambda p: p.name)
def test_both_readers_see_the_same_in_real_logs(path):
    lines = [json.loads(each) for each in path.read_bytes().splitlines()]

    edges, warnings = ours(lines)

    assert warnings == set(warnings_of(lines)) == set()
    assert edges == edges_of(lines)
    assert len(edges) == sum("upstreamEventId" in each for each in lines)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("native_*")), ids=lambda p: p.name)
def test_a_log_that_was_converted_twice_has_the_same_edges(path):
    there = [Conversion("snake").convert(each)[0] for each in read_records(path)]
    conversion = Conversion("native")
    back = [json.loads(encode(conversion.convert(each)[0])) for each in there]

    assert edges_of(back) == ours([json.loads(encode(each)) for each in there])[0]
    assert warnings_of(back) == []
