"""An agent that answers orders: a chat model, three tools, structured output, memory.

It lives in a module of its own because Flink Agents finds actions and tools by the
name of their module; in a script that would be ``__main__``. For the same reason
there is no ``from __future__ import annotations``: the host reads annotations.
"""

import os
from typing import Any

from flink_agents.api.agents.agent import STRUCTURED_OUTPUT, Agent
from flink_agents.api.agents.types import OutputSchema
from flink_agents.api.chat_message import ChatMessage, MessageRole
from flink_agents.api.core_options import AgentExecutionOptions, ErrorHandlingStrategy
from flink_agents.api.decorators import (
    action,
    chat_model_connection,
    chat_model_setup,
    prompt,
    tool,
)
from flink_agents.api.events.chat_event import ChatRequestEvent, ChatResponseEvent
from flink_agents.api.events.event import Event, InputEvent, OutputEvent
from flink_agents.api.execution_environment import AgentsExecutionEnvironment
from flink_agents.api.prompts.prompt import Prompt
from flink_agents.api.resource import ResourceDescriptor, ResourceName
from flink_agents.api.runner_context import RunnerContext
from pydantic import BaseModel

DEFAULT_MODEL = "gpt-4o-mini"
CATALOG = {"LAMP-RED": "red desk lamp, 25 EUR", "MUG-BLUE": "blue mug, 8 EUR"}
STOCK = {"LAMP-RED": 7, "MUG-BLUE": 0}

SYSTEM_PROMPT = """\
You decide about the orders of a small shop. Use the tools to look up products and
stock, and to charge a card when the customer asks for it.
This customer's earlier orders: {earlier_orders}.
Answer with one JSON object and nothing else, for example
{"sku": "LAMP-RED", "quantity": 2, "accepted": true, "reason": "in stock"}"""


class OrderDecision(BaseModel):
    """What the model has to answer."""

    sku: str
    quantity: int
    accepted: bool
    reason: str


class PaymentRefusedError(RuntimeError):
    """The bank said no."""


class OrderAgent(Agent):
    """Asks a chat model to decide about an order, and remembers the customer's."""

    @chat_model_connection
    @staticmethod
    def llm_server() -> ResourceDescriptor:
        """Describe the endpoint; the variables are read when the agent is applied.

        The host's own variable is OPENAI_API_BASE_URL, the SDK's OPENAI_BASE_URL.
        """
        return ResourceDescriptor(
            clazz=ResourceName.ChatModel.OPENAI_COMPLETIONS_CONNECTION,
            api_base_url=os.environ.get("OPENAI_BASE_URL"),
            api_key=os.environ.get("OPENAI_API_KEY") or "unused",
            max_retries=3,
        )

    @chat_model_setup
    @staticmethod
    def order_model() -> ResourceDescriptor:
        """Describe the model with its prompt and tools."""
        return ResourceDescriptor(
            clazz=ResourceName.ChatModel.OPENAI_COMPLETIONS_SETUP,
            connection="llm_server",
            model=os.environ.get("OPENAI_MODEL") or DEFAULT_MODEL,
            prompt="order_prompt",
            tools=["search_catalog", "check_stock", "charge_card"],
        )

    @prompt
    @staticmethod
    def order_prompt() -> Prompt:
        """Make the system message; the host fills the names it knows in braces."""
        return Prompt.from_text(SYSTEM_PROMPT)

    @tool
    @staticmethod
    def search_catalog(query: str) -> str:
        """Search the catalog for products.

        :param query: Words of the product's name.
        """
        words = query.lower().split()
        found = [
            f"{sku}: {text}"
            for sku, text in CATALOG.items()
            if all(word in text for word in words)
        ]
        return "; ".join(found) or "nothing found"

    @tool
    @staticmethod
    def check_stock(sku: str) -> int:
        """Tell how many pieces of a product are in stock.

        :param sku: The product's number, such as LAMP-RED.
        """
        return STOCK.get(sku, 0)

    @tool
    @staticmethod
    def charge_card(customer: str, amount: float) -> str:
        """Charge the customer's card.

        :param customer: The customer's name.
        :param amount: The amount in EUR.
        """
        raise PaymentRefusedError(f"the card of {customer} was refused for {amount}")

    @action(InputEvent.EVENT_TYPE)
    @staticmethod
    def receive_order(event: Event, ctx: RunnerContext) -> None:
        """Ask the model, telling it what this customer ordered before."""
        order = InputEvent.from_event(event).input
        orders = ctx.short_term_memory.get("orders") or []
        ctx.short_term_memory.set("orders", [*orders, order])
        ctx.send_event(
            ChatRequestEvent(
                model="order_model",
                messages=[ChatMessage(role=MessageRole.USER, content=order)],
                prompt_args={"earlier_orders": "; ".join(orders) or "none"},
                output_schema=OutputSchema(output_schema=OrderDecision),
            )
        )

    @action(ChatResponseEvent.EVENT_TYPE)
    @staticmethod
    def reply(event: Event, ctx: RunnerContext) -> None:
        """Pass the decision on."""
        response = ChatResponseEvent.from_event(event).response
        decision = response.extra_args[STRUCTURED_OUTPUT]
        ctx.short_term_memory.set("last_decision", decision.model_dump())
        ctx.send_event(OutputEvent(output=decision.model_dump()))


def process(orders: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Run the orders (``{"key": customer, "value": text}``) on the local runner.

    An error of an action ends the whole call, and the outputs of earlier orders are
    lost with it: the host fills its output list after the last order.
    """
    env = AgentsExecutionEnvironment.get_execution_environment()
    config = env.get_config()
    config.set(
        AgentExecutionOptions.ERROR_HANDLING_STRATEGY, ErrorHandlingStrategy.RETRY
    )
    config.set(AgentExecutionOptions.MAX_RETRIES, 2)
    config.set(AgentExecutionOptions.RETRY_WAIT_INTERVAL, 0)
    outputs = env.from_list(orders).apply(OrderAgent()).to_list()
    env.execute()
    return outputs
