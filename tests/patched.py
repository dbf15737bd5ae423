"""What the table of patches leads to on the installed host."""

import functools
import importlib
from dataclasses import dataclass
from typing import Any

from opentelemetry.instrumentation.flink_agents import _table
from opentelemetry.instrumentation.flink_agents._core import Core
from opentelemetry.instrumentation.flink_agents._patching import Patcher
from opentelemetry.instrumentation.flink_agents._providers import Providers


@dataclass(frozen=True)
class Target:
    """A place in the host where the table replaces a function."""

    module: str
    path: str
    overrides: bool

    @property
    def owner(self) -> Any:
        *path, _ = self.path.split(".")
        return functools.reduce(getattr, path, importlib.import_module(self.module))

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def found(self) -> Any:
        """What stands in the owner's own namespace."""
        return vars(self.owner)[self.name]

    def __str__(self) -> str:
        return self.path


def _exists(target: Target) -> bool:
    try:
        return target.name in vars(target.owner)
    except (ImportError, AttributeError):
        return False


def targets() -> list[Target]:
    """Every place that the table names and this version of the host has."""
    table = _table.patches(Core(Providers("none"), Patcher()))
    named = {
        Target(patch.module, patch.name, patch.overrides)
        for patch in table
        # Private methods of mem0, which bind in their own way.
        if patch.kind is None
    }
    return sorted(filter(_exists, named), key=lambda each: (each.module, each.path))


def with_subclasses(base: type) -> list[type]:
    found = [base]
    for cls in found:
        found.extend(each for each in cls.__subclasses__() if each not in found)
    return found


def owners() -> list[Any]:
    """Every module and class in whose namespace something may be replaced."""
    found: list[Any] = []
    for target in targets():
        several = with_subclasses(target.owner) if target.overrides else [target.owner]
        found.extend(each for each in several if not any(each is one for one in found))
    return found


FAULTS_OF_OURS: list[RuntimeError] = []


def fault_of_ours() -> None:
    """What a function of ours does in place of its work."""
    FAULTS_OF_OURS.append(RuntimeError("a fault of ours"))
    raise FAULTS_OF_OURS[-1]
