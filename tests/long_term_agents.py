"""Agents with long-term memory on the real mem0 and the real Chroma.

The model that mem0 consults is scripted: `added(text)` are its answers by which one
item is stored, `echo` stores whatever is said.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.resource import ResourceType

from chat_agents import scripted
from hosting import local_runner
from probing import Stage, perform
from scripted_llm import Reply

pytest.importorskip("mem0", reason="this version of the host has no mem0")

from memory_agent import ProfileAgent, long_term_memory
from memory_demo import decision, facts

_RESOURCES = {
    "llm_server": ResourceType.CHAT_MODEL_CONNECTION,
    "note_model": ResourceType.CHAT_MODEL,
    "word_counter": ResourceType.EMBEDDING_MODEL_CONNECTION,
    "word_counts": ResourceType.EMBEDDING_MODEL,
    "notes": ResourceType.VECTOR_STORE,
}


def _with_memory(agent: Agent) -> Agent:
    for name, kind in _RESOURCES.items():
        agent.add_resource(name, kind, getattr(ProfileAgent, name)())
    return agent


def runner_with_memory(agent: type[Agent] = Stage, **configuration: Any) -> Any:
    return local_runner(_with_memory(agent()), **configuration)


@contextlib.contextmanager
def story(
    replies: Any, key: str, agent: type[Agent] = Stage, **configuration: Any
) -> Iterator[Callable[..., Any]]:
    """Give a function that runs a body as an action, with the key's memory."""
    with scripted(replies):
        runner = runner_with_memory(agent, **configuration)

        def act(body: Callable[..., Any]) -> Any:
            memories: list[Any] = []

            def in_action(_: Any, ctx: Any) -> Any:
                memories.append(long_term_memory(ctx))
                return body(memories[0])

            perform(runner, in_action, key=key)
            return memories[0]

        yield act


def act(
    replies: Any, *bodies: Callable[..., Any], key: str, **configuration: Any
) -> Any:
    """Run each body as an action with the key's memory; return the last memory."""
    with story(replies, key, **configuration) as acting:
        return [acting(body) for body in bodies][-1]


def add(*texts: str, to: str = "notes") -> Callable[[Any], Any]:
    """Store texts in a set, by what mem0 makes of them."""
    return lambda memory: memory.get_memory_set(to).add(list(texts))


def added(text: str) -> list[Reply]:
    """Replies by which mem0 stores `text` as one item."""
    return [facts(text), decision(("ADD", "0", text))]


def echo(body: dict[str, Any]) -> Reply:
    """Reply such that whatever is said is stored as it is."""
    messages = body["messages"]
    if len(messages) == 2:
        said = re.search(r"Input:\s+user: (.*)", messages[1]["content"])[1]
        return facts(said)
    fact = re.findall(r"\['(.*?)'\]", messages[0]["content"])[-1]
    return decision(("ADD", "0", fact))


def contents(memory: Any, name: str = "notes") -> dict[str, str]:
    """What the store holds; outside of an action nobody observes this."""
    return {item.id: item.value for item in memory.get_memory_set(name).get()}
