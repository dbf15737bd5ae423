"""Replaces functions of the host by wrappers, and puts the originals back.

One table of `Patch` drives both directions. A patch waits for its module to be
imported by somebody else; nothing is imported for its sake.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import wrapt

from opentelemetry.exporter.flink_agents._guard import faults, guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Wrapper = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]

_SUBCLASS_HOOK = "__init_subclass__"


@dataclass(frozen=True)
class Patch:
    """One thing that is wrapped.

    `wrapper(wrapped, instance, args, kwargs)` has wrapt's signature; `instance`
    is None and `args` begins with the instance where there is one.
    """

    module: str
    name: str
    """Path inside the module, such as `LocalRunner.run`."""
    wrapper: Wrapper
    overrides: bool = False
    """Wrap the overrides of the method in all subclasses too, present and future."""
    kind: type[PatchedFunction] | None = None
    """How the wrapped function binds, where not as `PatchedFunction` does."""


@dataclass(frozen=True)
class _Followed:
    """A base class whose subclasses are patched as they are defined."""

    hook: Any
    wrappers: dict[str, Wrapper]
    """By the name of the method."""


class PatchedFunction(wrapt.FunctionWrapper):  # type: ignore[type-arg,unused-ignore]
    """A wrapped function that looks, binds and pickles like the original.

    The host pickles bound methods into the digests of durable calls; wrapt's own
    bound wrapper cannot be pickled. Bound, this is a plain method; pickled, it
    is a reference to the original's name.
    """

    # Without an annotation: it would be read as the original's own annotations.
    _self_original = None
    """What stood in the owner's own namespace."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__wrapped__.__qualname__

    def __copy__(self) -> PatchedFunction:
        return self

    def __deepcopy__(self, memo: Any) -> PatchedFunction:
        return self


class Patcher:
    """Applies a table of patches and reverts it.

    Methods are replaced where they are defined, in the class's own namespace:
    wrapping an inherited one would leave a copy behind.
    """

    def __init__(self) -> None:
        self._patches: tuple[Patch, ...] = ()
        self._replaced: weakref.WeakKeyDictionary[Any, set[str]] = (
            weakref.WeakKeyDictionary()
        )
        """By module or class, weakly: an application may make classes as it runs."""
        self._followed: dict[Any, _Followed] = {}
        """By base class: what is patched in its subclasses."""
        # Shared by all wrappers. wrapt skips a wrapper while this is empty, at the
        # cost of a truth test.
        self._enabled: Any = []
        self._hooked: set[str] = set()
        self._lock = threading.RLock()

    def apply(self, patches: Iterable[Patch]) -> None:
        """Apply `patches` now where the module is imported, else once it is."""
        with self._lock:
            self._patches = ()
            self._enabled = [True]
            self.add(patches)

    def add(self, patches: Iterable[Patch]) -> None:
        """Apply more patches beside those that are applied."""
        with self._lock:
            added = tuple(patches)
            self._patches += added
            for module in dict.fromkeys(patch.module for patch in added):
                if module in sys.modules:
                    self._module_imported(sys.modules[module])
                if module not in self._hooked:
                    self._hooked.add(module)
                    # wrapt keeps this for ever; it does nothing after revert().
                    wrapt.register_post_import_hook(self._module_imported, module)

    def revert(self) -> None:
        """Put every original back; wrappers that others still hold pass through."""
        with self._lock:
            self._patches = ()
            self._enabled.clear()
            for owner, names in list(self._replaced.items()):
                for name in names:
                    _restore(owner, name)
            self._replaced.clear()
            while self._followed:
                base, followed = self._followed.popitem()
                if vars(base).get(_SUBCLASS_HOOK) is followed.hook:
                    delattr(base, _SUBCLASS_HOOK)

    @guarded
    def _module_imported(self, module: ModuleType) -> None:
        with self._lock:
            for patch in self._patches:
                if patch.module == module.__name__:
                    self._apply(patch, module)

    def _apply(self, patch: Patch, module: ModuleType) -> None:
        *path, name = patch.name.split(".")
        try:
            owner: Any = functools.reduce(getattr, path, module)
        except AttributeError:
            return  # another version of the host
        self._replace(owner, name, patch.wrapper, patch.kind or PatchedFunction)
        if patch.overrides:
            for subclass in _subclasses(owner):
                self._replace(subclass, name, patch.wrapper)
            self._follow_subclasses(owner, name, patch.wrapper)

    def _replace(
        self,
        owner: Any,
        name: str,
        wrapper: Wrapper,
        kind: type[PatchedFunction] = PatchedFunction,
    ) -> None:
        original = vars(owner).get(name)
        ours = _ours(original)
        if ours is not None:
            if ours._self_enabled is self._enabled:  # noqa: SLF001
                return
            # From before a revert(): somebody had wrapped it and put it back.
            original = ours._self_original  # noqa: SLF001
        static = isinstance(original, staticmethod)
        function = original.__get__(None, owner) if static else original
        if not isinstance(function, FunctionType):
            return
        if type(function) is not FunctionType and isinstance(owner, type):
            function = function if static else _bound_when_called(function)
        patched = kind(function, wrapper, self._enabled)
        patched._self_original = original  # noqa: SLF001
        setattr(owner, name, staticmethod(patched) if static else patched)
        self._replaced.setdefault(owner, set()).add(name)

    def _follow_subclasses(self, base: Any, name: str, wrapper: Wrapper) -> None:
        """Patch overrides in classes that are defined later."""
        followed = self._followed.get(base)
        if followed is not None:
            followed.wrappers[name] = wrapper
            return
        if _SUBCLASS_HOOK in vars(base):
            return  # the host's own; none of its versions has one
        wrappers = {name: wrapper}

        def hook(cls: Any, /, **kwargs: Any) -> None:
            super(base, cls).__init_subclass__(**kwargs)
            try:
                with self._lock:
                    if self._patches:
                        for each, its_wrapper in wrappers.items():
                            self._replace(cls, each, its_wrapper)
            except Exception as error:  # noqa: BLE001  # see guarded()
                faults.caught("subclass hook", error)

        added: Any = classmethod(hook)
        setattr(base, _SUBCLASS_HOOK, added)
        self._followed[base] = _Followed(added, wrappers)


def _bound_when_called(method: Any) -> FunctionType:
    """Return a plain function for a method that others have wrapped.

    They expect to be bound: the wrappers of wrapt are told the instance that way.
    """

    @functools.wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return method.__get__(self, type(self))(*args, **kwargs)

    return call  # type: ignore[return-value]


def _ours(found: Any) -> PatchedFunction | None:
    function: Any = found.__func__ if type(found) is staticmethod else found
    # Not isinstance(): what others put over ours says that it is one.
    return function if issubclass(type(function), PatchedFunction) else None


def _restore(owner: Any, name: str) -> None:
    # Somebody may have wrapped ours: taking it out would take theirs out too.
    ours = _ours(vars(owner).get(name))
    if ours is not None:
        setattr(owner, name, ours._self_original)  # noqa: SLF001


def original(owner: type, name: str) -> Any:
    """Return the function `name` of a class as it is without us."""
    function = getattr(owner, name)
    ours = _ours(function)
    return function if ours is None else ours.__wrapped__


def _subclasses(base: type) -> Iterator[type]:
    waiting: list[type] = list(base.__subclasses__())
    seen: set[type] = set()
    while waiting:
        cls = waiting.pop()
        if cls not in seen:
            seen.add(cls)
            yield cls
            waiting.extend(cls.__subclasses__())
