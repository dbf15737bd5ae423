"""Agents with a vector store, on the real Chroma."""

import hashlib
from typing import Any

from flink_agents.api.agents.agent import Agent
from flink_agents.api.embedding_models.embedding_model import (
    BaseEmbeddingModelConnection,
    BaseEmbeddingModelSetup,
)
from flink_agents.api.resource import ResourceDescriptor, ResourceType

from probing import Stage

CHROMA = (
    "flink_agents.integrations.vector_stores.chroma.chroma_vector_store."
    "ChromaVectorStore"
)


class WordCountConnection(BaseEmbeddingModelConnection):
    """Embeds a text by counting its words in a few buckets."""

    def embed(self, text: Any, **_: Any) -> Any:
        if not isinstance(text, str):
            return [self.embed(each) for each in text]
        vector = [0.001] * 32
        for word in text.lower().split():
            vector[hashlib.sha256(word.encode()).digest()[0] % 32] += 1.0
        return vector


class WordCountSetup(BaseEmbeddingModelSetup):
    @property
    def model_kwargs(self) -> dict[str, Any]:
        return {}


def with_store(
    collection: str, agent: type[Agent] = Stage, clazz: str = CHROMA
) -> Agent:
    """An agent with the vector store `library`, which embeds by `word_counts`."""
    made = agent()
    for name, kind, arguments in (
        (
            "word_counter",
            ResourceType.EMBEDDING_MODEL_CONNECTION,
            {"clazz": f"{__name__}.WordCountConnection"},
        ),
        (
            "word_counts",
            ResourceType.EMBEDDING_MODEL,
            {
                "clazz": f"{__name__}.WordCountSetup",
                "connection": "word_counter",
                "model": "word-counts",
            },
        ),
        (
            "library",
            ResourceType.VECTOR_STORE,
            {
                "clazz": clazz,
                "embedding_model": "word_counts",
                "collection": collection,
            },
        ),
    ):
        made.add_resource(name, kind, ResourceDescriptor(**arguments))
    return made
