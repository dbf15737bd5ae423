"""An agent that answers from a library: a vector store of the real Chroma.

The embedding model counts words, so that nothing is downloaded.
"""

import hashlib
import os
from typing import Any

# Chroma reports its use to its makers unless told not to.
os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")

from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import (
    action,
    embedding_model_connection,
    embedding_model_setup,
    vector_store,
)
from flink_agents.api.embedding_models.embedding_model import (
    BaseEmbeddingModelConnection,
    BaseEmbeddingModelSetup,
)
from flink_agents.api.events.context_retrieval_event import (
    ContextRetrievalRequestEvent,
    ContextRetrievalResponseEvent,
)
from flink_agents.api.events.event import Event, InputEvent, OutputEvent
from flink_agents.api.resource import (
    ResourceDescriptor,
    ResourceName,
    ResourceType,
)
from flink_agents.api.runner_context import RunnerContext
from flink_agents.api.vector_stores.vector_store import Document

DIMENSIONS = 32
BOOKS = ["lamps of the world", "mugs of the world", "a history of lamps"]


class WordCountConnection(BaseEmbeddingModelConnection):
    """Embeds a text by counting its words in a few buckets."""

    def embed(self, text: Any, **_: Any) -> Any:
        """Return the vector of a string."""
        vector = [0.001] * DIMENSIONS
        for word in text.lower().split():
            vector[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
        return vector


class WordCountSetup(BaseEmbeddingModelSetup):
    """The embedding model by which books are found."""

    @property
    def model_kwargs(self) -> dict[str, Any]:
        """Return nothing: there is nothing to set."""
        return {}


class LibraryAgent(Agent):
    """Fills its library when it is told to open, else looks a question up."""

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
    def library() -> ResourceDescriptor:
        """Describe the vector store, in memory."""
        return ResourceDescriptor(
            clazz=ResourceName.VectorStore.CHROMA_VECTOR_STORE,
            embedding_model="word_counts",
            collection="library",
        )

    @action(InputEvent.EVENT_TYPE)
    @staticmethod
    def look_up(event: Event, ctx: RunnerContext) -> None:
        """Store the books, or ask the host to look one up."""
        question = InputEvent.from_event(event).input
        if question == "open":
            store = ctx.get_resource("library", ResourceType.VECTOR_STORE)
            store.add([Document(content=b, metadata={"shelf": 1}) for b in BOOKS])
            return
        ctx.send_event(
            ContextRetrievalRequestEvent(
                query=question, vector_store="library", max_results=1
            )
        )

    @action(ContextRetrievalResponseEvent.EVENT_TYPE)
    @staticmethod
    def answer(event: Event, ctx: RunnerContext) -> None:
        """Give the book that was found."""
        found = ContextRetrievalResponseEvent.from_event(event).documents
        ctx.send_event(OutputEvent(output=[book.content for book in found]))
