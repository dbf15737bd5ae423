"""Jaeger with its own configuration: what was sent can be read back, whole."""

import pytest

from binaries import until
from traces import KeepingProvider, received, sent, trace_ids


@pytest.fixture
def send(instrument, jaeger, sending, order):
    """Run the agent, sending to Jaeger; return the spans that were sent."""

    def run(how, protocol="grpc", **arguments):
        sending(jaeger, protocol)
        provider = KeepingProvider()
        instrument(tracer_provider=provider, otlp=True, **arguments)
        order(how)
        provider.shutdown()
        return provider.kept

    return run


def came_back(jaeger, spans):
    """All spans of the one trace of `spans`, when as many have arrived."""
    [trace] = trace_ids(spans)
    found = until(lambda: len(got := jaeger.trace(trace)) >= len(spans) and got)
    return [received(span) for span in found]


def in_order(spans):
    return sorted(spans, key=lambda span: span["span"])


@pytest.mark.parametrize("how", ["fine", "repeated", "failed"])
@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_a_trace_is_read_back_as_it_was_sent(how, protocol, send, jaeger):
    spans = send(how, protocol)

    assert in_order(came_back(jaeger, spans)) == in_order(map(sent, spans))


def test_a_run_is_found_by_its_key_and_its_links_and_errors_are_shown(send, jaeger):
    spans = send("failed")
    [trace] = trace_ids(spans)
    came_back(jaeger, spans)

    answer = jaeger.ask(
        "/api/traces",
        service="orders",
        tags=f'{{"flink_agents.input_run_id": "{run_id(spans)}"}}',
    )

    [found] = answer["data"]
    assert found["traceID"] == trace
    names = {span["spanID"]: span["operationName"] for span in found["spans"]}
    assert sorted(relations(found, names)) == [
        ("CHILD_OF", "action chat_model_action", "invoke_agent OrderAgent"),
        ("CHILD_OF", "action receive_order", "invoke_agent OrderAgent"),
        ("CHILD_OF", "action tool_call_action", "invoke_agent OrderAgent"),
        ("CHILD_OF", "chat gpt-4o-mini", "action chat_model_action"),
        ("CHILD_OF", "execute_tool charge_card", "action tool_call_action"),
        ("FOLLOWS_FROM", "action chat_model_action", "action receive_order"),
        ("FOLLOWS_FROM", "action tool_call_action", "action chat_model_action"),
    ]
    assert {names[span["spanID"]] for span in found["spans"] if failed(span)} == {
        "action tool_call_action",
        "execute_tool charge_card",
        "invoke_agent OrderAgent",
    }


def run_id(spans):
    return spans[0].attributes["flink_agents.input_run_id"]


def relations(found, names):
    return [
        (each["refType"], span["operationName"], names[each["spanID"]])
        for span in found["spans"]
        for each in span["references"]
    ]


def failed(span):
    return any(tag["key"] == "error" and tag["value"] for tag in span["tags"])
