"""The agent's name reaches a Flink cluster with the plan, and stays out of it here."""

import json

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.plan.configuration import AgentConfiguration
from flink_agents.runtime import remote_execution_environment as remote

from opentelemetry.instrumentation.flink_agents._agents import configured_name
from probing import Stage


class Borrower(Agent):
    """Its name is in no qualified name of an action."""

    act = vars(Stage)["act"]


class Sent(Exception):
    """What would go to Java."""


@pytest.fixture
def sent(monkeypatch):
    """The configuration of the plan that is sent to Java for an agent."""

    def send(*_):
        raise Sent(_[3][1])

    monkeypatch.setattr(remote, "invoke_method", send)

    def sent(agent, configuration):
        class Stream:
            _j_data_stream = None

        builder = remote.RemoteAgentBuilder(Stream(), configuration, resources={})
        builder.apply(agent)
        with pytest.raises(Sent) as raised:
            builder.to_datastream()
        return json.loads(raised.value.args[0])["config"]["conf_data"]

    return sent


def test_the_name_goes_with_the_configuration(instrument, sent):
    instrument()
    configuration = AgentConfiguration({"chat.async": False})

    data = sent(Borrower(), configuration)

    assert configured_name(data) == "Borrower"
    assert {"chat.async": False, **data} == data
    assert len(data) == 2
    assert configuration.conf_data == {"chat.async": False}


def test_a_plan_sent_without_us_has_no_name(sent):
    assert sent(Borrower(), AgentConfiguration({"a": 1})) == {"a": 1}
