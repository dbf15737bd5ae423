"""An agent whose tools live elsewhere: on an MCP server, and in a skill."""

import os
from pathlib import Path

from flink_agents.api.agents.agent import Agent
from flink_agents.api.chat_message import ChatMessage
from flink_agents.api.decorators import (
    action,
    chat_model_connection,
    chat_model_setup,
    mcp_server,
    skills,
)
from flink_agents.api.events.chat_event import ChatRequestEvent, ChatResponseEvent
from flink_agents.api.events.event import Event, InputEvent, OutputEvent
from flink_agents.api.resource import ResourceDescriptor, ResourceName
from flink_agents.api.runner_context import RunnerContext
from flink_agents.api.skills import Skills

SKILLS = Path(__file__).with_name("skills")


class ShopAgent(Agent):
    """Answers what something costs, and whether it is there."""

    @mcp_server
    @staticmethod
    def shop() -> ResourceDescriptor:
        """Describe the server, whose tools become the agent's."""
        return ResourceDescriptor(
            clazz=ResourceName.MCP_SERVER, endpoint=os.environ["SHOP_MCP"]
        )

    @skills
    @staticmethod
    def knowledge() -> Skills:
        """Say where skills are; the host adds the tool `load_skill`."""
        return Skills.from_local_dir(str(SKILLS))

    @chat_model_connection
    @staticmethod
    def llm_server() -> ResourceDescriptor:
        """Describe the endpoint."""
        return ResourceDescriptor(
            clazz=ResourceName.ChatModel.OPENAI_COMPLETIONS_CONNECTION,
            api_base_url=os.environ.get("OPENAI_BASE_URL"),
            api_key=os.environ.get("OPENAI_API_KEY") or "unused",
        )

    @chat_model_setup
    @staticmethod
    def clerk() -> ResourceDescriptor:
        """Describe the model that answers."""
        return ResourceDescriptor(
            clazz=ResourceName.ChatModel.OPENAI_COMPLETIONS_SETUP,
            connection="llm_server",
            model=os.environ.get("OPENAI_MODEL") or "gpt-4o-mini",
            tools=["stock", "load_skill"],
        )

    @action(InputEvent.EVENT_TYPE)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        """Hand the question to the model."""
        question = ChatMessage(content=InputEvent.from_event(event).input)
        ctx.send_event(ChatRequestEvent(model="clerk", messages=[question]))

    @action(ChatResponseEvent.EVENT_TYPE)
    @staticmethod
    def answer(event: Event, ctx: RunnerContext) -> None:
        """Give the model's answer."""
        response = ChatResponseEvent.from_event(event).response
        ctx.send_event(OutputEvent(output=response.content))
