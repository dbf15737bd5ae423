"""An agent that remembers: a profile in short-term memory, notes in long-term memory.

Long-term memory is the real mem0 on the real Chroma. The embedding model counts words,
so that nothing is downloaded; the chat model that mem0 consults is whatever
`OPENAI_BASE_URL` leads to.

On the local runner `ctx.long_term_memory` raises NotImplementedError. The agent makes
its own `Mem0LongTermMemory` and tells it the key, as the host does on Flink.
"""

import hashlib
import os
from typing import Any

# mem0 and Chroma report their use to their makers unless told not to.
os.environ.setdefault("MEM0_TELEMETRY", "False")
os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")

from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import (
    action,
    chat_model_connection,
    chat_model_setup,
    embedding_model_connection,
    embedding_model_setup,
    vector_store,
)
from flink_agents.api.embedding_models.embedding_model import (
    BaseEmbeddingModelConnection,
    BaseEmbeddingModelSetup,
)
from flink_agents.api.events.event import Event, InputEvent, OutputEvent
from flink_agents.api.resource import ResourceDescriptor, ResourceName
from flink_agents.api.runner_context import RunnerContext
from flink_agents.runtime.memory.mem0.mem0_long_term_memory import Mem0LongTermMemory

from opentelemetry.instrumentation.flink_agents.events import ShortTermWriteEvent

DIMENSIONS = 32


class WordCountConnection(BaseEmbeddingModelConnection):
    """Embeds a text by counting its words in a few buckets."""

    def embed(self, text: Any, **_: Any) -> Any:
        """Return one vector for a string, a list of them for several."""
        if not isinstance(text, str):
            return [self.embed(each) for each in text]
        vector = [0.001] * DIMENSIONS
        for word in text.lower().split():
            vector[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
        return vector


class WordCountSetup(BaseEmbeddingModelSetup):
    """The embedding model by which mem0 finds what belongs together."""

    @property
    def model_kwargs(self) -> dict[str, Any]:
        """Return nothing: there is nothing to set."""
        return {}


class ProfileAgent(Agent):
    """Keeps a customer's profile, takes notes, and watches its own memory."""

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
    def note_model() -> ResourceDescriptor:
        """Describe the model that decides what is worth remembering."""
        return ResourceDescriptor(
            clazz=ResourceName.ChatModel.OPENAI_COMPLETIONS_SETUP,
            connection="llm_server",
            model=os.environ.get("OPENAI_MODEL") or "gpt-4o-mini",
        )

    @embedding_model_connection
    @staticmethod
    def word_counter() -> ResourceDescriptor:
        """Describe where embeddings come from."""
        return ResourceDescriptor(clazz=f"{__name__}.WordCountConnection")

    @embedding_model_setup
    @staticmethod
    def word_counts() -> ResourceDescriptor:
        """Describe the embedding model."""
        return ResourceDescriptor(
            clazz=f"{__name__}.WordCountSetup",
            connection="word_counter",
            model="word-counts",
        )

    @vector_store
    @staticmethod
    def notes() -> ResourceDescriptor:
        """Describe the vector store, in memory."""
        return ResourceDescriptor(
            clazz=ResourceName.VectorStore.CHROMA_VECTOR_STORE,
            embedding_model="word_counts",
        )

    @action(InputEvent.EVENT_TYPE)
    @staticmethod
    def remember(event: Event, ctx: RunnerContext) -> None:
        """Update the profile, note what was said, and look up what it resembles."""
        said = InputEvent.from_event(event).input
        memory = ctx.short_term_memory
        memory.set("profile.visits", (memory.get("profile.visits") or 0) + 1)
        memory.set("profile.last_said", said)

        notes = long_term_memory(ctx).get_memory_set("notes")
        notes.add(said)
        found = notes.search(query=said, limit=1)
        ctx.send_event(OutputEvent(output=[item.value for item in found]))

    @action(ShortTermWriteEvent.EVENT_TYPE)
    @staticmethod
    def observe(event: Event, ctx: RunnerContext) -> None:
        """Say what changed; what this action writes itself triggers nothing."""
        written = ShortTermWriteEvent.from_event(event)
        ctx.send_event(OutputEvent(output=f"{written.key} changed {written.value}"))


def long_term_memory(ctx: RunnerContext) -> Mem0LongTermMemory:
    """Make the long-term memory that the local runner does not give."""
    memory = Mem0LongTermMemory(
        ctx=ctx,
        job_id="memory-example",
        chat_model_name="note_model",
        embedding_model_name="word_counts",
        vector_store_name="notes",
    )
    memory.switch_context(str(ctx.key))
    return memory
