"""An agent that asks a chat model, which asks for a tool; it does not know of us."""

from __future__ import annotations

from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event  # noqa: TC002  # checked
from flink_agents.api.runner_context import RunnerContext  # noqa: TC002  # checked

from chat_agents import ON_ANSWER, ChatAgent, answer_of, chat_request, openai_setup
from hosting import ON_INPUT, input_of, output


class QuestionAgent(ChatAgent):
    """Passes the number of its input to the model, and the answer on."""

    def __init__(self) -> None:
        super().__init__(openai_setup(tools=["double"]))

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        """Count the questions of the key, and ask."""
        memory = ctx.short_term_memory
        memory.set("questions", (memory.get("questions") or 0) + 1)
        ctx.send_event(chat_request(str(input_of(event)[1])))

    @action(ON_ANSWER)
    @staticmethod
    def reply(event: Event, ctx: RunnerContext) -> None:
        """Pass the answer on with what was counted."""
        count = ctx.short_term_memory.get("questions")
        ctx.send_event(output(f"{answer_of(event).content} after {count}"))
