"""What is patched looks, is copied and is pickled as it is without us.

Durable calls of the host depend on it: a job finds the results that it has kept
by the name of the function and by the digest of its pickled arguments.
"""

import copy
import inspect
import json
import os
import pickle
import subprocess
import sys
import textwrap
import typing

import cloudpickle
import pytest
from flink_agents.api.chat_message import ChatMessage, MessageRole
from flink_agents.api.chat_models.chat_model import BaseChatModelSetup
from flink_agents.api.tools.tool import Tool

from hosting import output
from patched import targets
from probing import ProbeModel, ProbeTool, chat_model, play, tool

try:
    from flink_agents.runtime import durable_execution as durable
except ImportError:  # until 0.2
    from flink_agents.runtime import flink_runner_context as durable

pytestmark = pytest.mark.memory

TARGETS = targets()


class Holder:
    """Stands for an instance of whatever class a method is bound to."""

    def __reduce__(self):
        return Holder, ()


class LoudTool(ProbeTool):
    """Overrides an override."""

    def call(self, *args: typing.Any, volume: int = 11) -> typing.Any:
        """Call it loudly."""
        return super().call(*args, volume=volume)


class LoudModel(ProbeModel):
    def chat(self, messages, *args, **kwargs):
        return super().chat(messages, *args, **kwargs)


def appearance(function):
    """All by which code can tell one function from another, but its identity."""
    copies = copy.copy(function), copy.deepcopy(function)
    return {
        "pickle": [pickle.dumps(function, protocol) for protocol in range(6)],
        "cloudpickle": cloudpickle.dumps(function),
        "unpickled is itself": pickle.loads(pickle.dumps(function)) == function,
        "copies are itself": [each == function for each in copies],
        "signature": inspect.signature(function),
        "hints": repr(inspect.get_annotations(function)),
        "defaults": (function.__defaults__, function.__kwdefaults__),
        "code": function.__code__,
        "closure": function.__closure__,
        "module": function.__module__,
        "qualname": function.__qualname__,
        "name": function.__name__,
        "doc": function.__doc__,
        "abstract": getattr(function, "__isabstractmethod__", False),
        "getmodule": inspect.getmodule(function),
        "getsource": inspect.getsource(function),
        "coroutine": inspect.iscoroutinefunction(function),
        "generator": inspect.isgeneratorfunction(function),
        "function": inspect.isfunction(function),
        "method": inspect.ismethod(function),
        "routine": inspect.isroutine(function),
        "callable": callable(function),
    }


def digests(function):
    """What the host keeps of a durable call of `function`, or with it."""
    return {
        "id": durable._compute_function_id(function),
        "as argument": durable._compute_args_digest((function, 1), {}),
        "as keyword": durable._compute_args_digest((), {"call": function}),
    }


def closure_over(function):
    def user_function(value):
        return function, value

    return user_function


def unclaimed(function):
    """A function of the user's that cloudpickle has to store by value."""
    function.__module__ = "__main__"
    return function


def facts_of(target):
    read = getattr(target.owner, target.name)
    facts = {"read": appearance(read), "digests of read": digests(read)}
    facts["closed over"] = cloudpickle.dumps(unclaimed(closure_over(read)))
    if inspect.isclass(target.owner):
        facts["type of read"] = inspect.isfunction(read)
        facts["static"] = isinstance(target.found, staticmethod)
        if not facts["static"]:
            bound = target.found.__get__(Holder(), Holder)
            facts["bound"] = appearance_of_bound(bound)
    return facts


def appearance_of_bound(bound):
    return {
        "type": type(bound),
        "id": durable._compute_function_id(bound),
        "as argument": durable._compute_args_digest((bound,), {}),
        "pickle": [pickle.dumps(bound, protocol) for protocol in range(2, 6)],
        "cloudpickle": cloudpickle.dumps(bound),
        "signature": inspect.signature(bound),
        "coroutine": inspect.iscoroutinefunction(bound),
        "method": inspect.ismethod(bound),
        "qualname": bound.__qualname__,
    }


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_what_is_patched_looks_copies_and_pickles_as_before(instrument, target):
    bare, original = facts_of(target), target.found

    instrument()

    assert target.found is not original
    assert facts_of(target) == bare


def test_there_is_something_to_look_at():
    assert len(TARGETS) >= 15


MADE = {
    "tool": tool,
    "loud tool": lambda: LoudTool(metadata=tool().metadata),
    "chat model": chat_model,
    "loud chat model": lambda: LoudModel(connection="none", model="m"),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_methods_of_instances_are_the_same_arguments_of_a_durable_call(
    instrument, made
):
    def facts():
        instance = made()
        bound = instance.call if isinstance(instance, Tool) else instance.chat
        return {
            "bound": {**appearance_of_bound(bound), "doc": bound.__doc__},
            "digests": digests(bound),
            "instance": cloudpickle.dumps(instance),
            "class": cloudpickle.dumps(type(instance)),
            "deep copy": copy.deepcopy(bound).__self__ == instance,
            "copy": copy.copy(instance) == instance,
            "abstract": type(instance).__abstractmethods__,
            "by name": [appearance(getattr(type(instance), bound.__name__))],
        }

    bare = facts()
    instrument()

    assert facts() == bare


def test_a_method_that_was_pickled_without_us_is_the_patched_one_with_us(instrument):
    pickled = pickle.dumps(tool().call)
    instrument()

    assert pickle.loads(pickled).__func__ is vars(ProbeTool)["call"]


def test_inside_an_action_the_digests_of_durable_calls_are_the_same(instrument):
    """There the host computes them, of events and messages that we have seen."""

    def digested():
        found = []

        def body(event, ctx):
            message = ChatMessage(role=MessageRole.USER, content="hello")
            probe, model = tool(lambda: "result"), chat_model(lambda _: message)
            probe.call()
            answer = model.chat([message])
            ctx.send_event(output("sent"))
            state = vars(event), event.__pydantic_extra__, event.__pydantic_private__
            seen = [
                # The ids of events are random until 0.2.
                {name: each for name, each in state[0].items() if name != "id"},
                *state[1:],
                *(message, answer, tool().call, chat_model().chat, {"a": b"\xff"}),
            ]
            found.append(durable._compute_args_digest((probe.metadata, *seen), {}))
            found.extend(durable._compute_args_digest((each,), {}) for each in seen)
            found.append(durable._compute_function_id(ctx.durable_execute))

        play(body)
        return found

    bare = digested()
    instrument()

    assert digested() == bare


def test_abstract_classes_stay_abstract(instrument):
    instrument()

    assert Tool.__abstractmethods__ == {"call", "tool_type"}
    with pytest.raises(TypeError, match="abstract"):
        Tool(metadata=tool().metadata)
    assert "chat" not in getattr(BaseChatModelSetup, "__abstractmethods__", ())


BY_VALUE = """
    import json, pickletools, re, sys, uuid
    import cloudpickle
    from flink_agents.api.chat_models.chat_model import BaseChatModelSetup
    from flink_agents.api.tools.tool import Tool, ToolMetadata, ToolType
    from flink_agents.plan.actions import chat_model_action
    from pydantic import BaseModel
    if {instrumented}:
        from opentelemetry.instrumentation.flink_agents import instrument
        instrument(event_log=False)
    uuid.uuid4 = iter(map(uuid.UUID, map("{{:032x}}".format, range(99)))).__next__

    class OwnTool(Tool):
        @classmethod
        def tool_type(cls): return ToolType.FUNCTION
        def call(self, *args, **kwargs): return super().call(*args, **kwargs) or args

    class OwnModel(BaseChatModelSetup):
        @property
        def model_kwargs(self): return {{}}
        def chat(self, messages, **kwargs): return messages

    class Nothing(BaseModel): pass

    def closing_over(function):
        return lambda: function

    metadata = ToolMetadata(name="own", description="", args_schema=Nothing)
    tool, model = OwnTool(metadata=metadata), OwnModel(connection="c", model="m")
    subjects = dict(
        tool_class=OwnTool, model_class=OwnModel,
        function=OwnTool.call, closure=closing_over(chat_model_action.chat),
        method_closure=closing_over(OwnTool.call), base_closure=closing_over(Tool.call),
        model_method=model.chat, model=model,
    )
    def operations(subject):
        # Without the addresses that pydantic puts into the names of schemas.
        found = pickletools.genops(cloudpickle.dumps(subject))
        named = [(each.name, argument) for each, argument, _ in found]
        text = repr([each for each in named if each[0] != "FRAME"])
        return re.sub(r":[0-9]{{10,}}", ":address", text)
    patched = type(vars(OwnTool)["call"]).__name__
    found = {{name: operations(each) for name, each in subjects.items()}}
    print(json.dumps([patched, found]))
    if len(sys.argv) > 1:
        open(sys.argv[1], "wb").write(cloudpickle.dumps((model, model.chat)))
"""


def in_main(*arguments, instrumented):
    code = textwrap.dedent(BY_VALUE.format(instrumented=instrumented))
    found = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},  # classes hold sets of names
    )
    return json.loads(found.stdout)


def test_classes_of_a_script_pickle_by_value_to_the_same_bytes():
    kind, bare = in_main(instrumented=False)
    patched_kind, ours = in_main(instrumented=True)

    assert (kind, patched_kind) == ("function", "PatchedFunction")
    assert ours == bare


def test_what_a_patched_script_pickled_works_where_we_are_not(tmp_path):
    pickled = tmp_path / "pickled"
    in_main(pickled, instrumented=True)

    model, chat = cloudpickle.loads(pickled.read_bytes())

    assert model.chat(["hello"]) == chat(["hello"]) == ["hello"]
