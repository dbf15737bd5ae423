"""Folding, then applying, gives what memory really holds; and nobody notices us."""

import math
import tempfile
from pathlib import Path

import pytest
from flink_agents.api.memory_object import MemoryType
from flink_agents.api.memory_reference import MemoryRef
from flink_agents.runtime.local_memory_object import LocalMemoryObject
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flink_agents_eventlog.memory import apply_writes
from flink_agents_eventlog.payload import decode_plain, encode_plain, strict_snapshot
from hosting import local_runner, log_lines
from opentelemetry.instrumentation.flink_agents import uninstrument
from probing import CoroutineStage, Stage, perform

pytestmark = pytest.mark.memory

ALL = {
    "memory.generate-event": True,
    "memory.generate-event.previous-value": True,
    "agent-run.end-event": True,
}
BEGIN, END = "_agent_run_begin_event", "_agent_run_end_event"
WRITES = {"_short_term_write_event": "short", "_sensory_write_event": "sensory"}

NAMES = st.sampled_from("abc")
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(".".join)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**63, max_value=2**70),
    st.floats(),
    st.sampled_from([math.nan, math.inf]),
    st.text(max_size=3),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
    ),
    max_leaves=4,
)
SCOPES = st.sampled_from(["short", "sensory"])
OPERATIONS = st.one_of(
    st.tuples(st.just("set"), SCOPES, PATHS, VALUES),
    # Through the object that stands at the first path, if one does.
    st.tuples(st.just("set in"), SCOPES, PATHS, PATHS, VALUES),
    st.tuples(st.just("new object"), SCOPES, PATHS, st.booleans()),
    st.tuples(st.just("new object in"), SCOPES, PATHS, PATHS, st.booleans()),
    st.tuples(st.just("get"), SCOPES, PATHS),
    st.tuples(st.just("get in"), SCOPES, PATHS, PATHS),
    st.tuples(st.just("follow"), SCOPES, PATHS, PATHS),
    st.tuples(st.just("fields"), SCOPES, PATHS),
    st.tuples(st.just("suspend")),
)
RUNS = st.lists(st.lists(OPERATIONS, max_size=8), min_size=1, max_size=4)

slow = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def is_object(value):
    return isinstance(value, LocalMemoryObject)


def apply(ctx, operation, *, within_limits):
    """Do one operation; return something comparable of what it gave.

    Within the limits of what equality can be asked, no object is made anew.
    """
    kind, scope, path, *rest = operation
    memory = ctx.short_term_memory if scope == "short" else ctx.sensory_memory
    if kind.endswith(" in"):
        memory = memory.get(path)
        if not is_object(memory):
            return "no object"
        path, *rest = rest
    if kind.startswith("new object") and within_limits and is_object(memory.get(path)):
        return "an object already"
    return _DO[kind.removesuffix(" in")](memory, path, *rest)


def set_(memory, path, value):
    reference = memory.set(path, value)
    return reference.path, memory.get(path) is value, memory.get(reference) is value


def new_object(memory, path, overwrite):  # as generated
    return described(memory.new_object(path, overwrite=overwrite))


def get(memory, path):
    return described(memory.get(path))


def follow(memory, path, target):
    reference = MemoryRef(memory_type=MemoryType.SHORT_TERM, path=target)
    return get(holder(memory, path), reference)


def fields(memory, path):
    return holder(memory, path).get_fields()


def holder(memory, path):
    """The object at `path` if there is one, else the root."""
    found = memory.get(path)
    return found if is_object(found) else memory


_DO = {
    "set": set_,
    "new object": new_object,
    "get": get,
    "follow": follow,
    "fields": fields,
}


def described(value):
    """Values by identity, since `get` returns the very object that was set."""
    if is_object(value):
        return "object", value.get_field_names()
    return "value", id(value)


def story(runs, folder, *, within_limits=True, agent=Stage):
    """Run one key through `runs`; return what each operation gave or raised."""
    seen, memories = [], []

    def one(ctx, operation):
        try:
            seen.append(apply(ctx, operation, within_limits=within_limits))
        except (ValueError, TypeError) as error:
            seen.append((type(error).__name__, str(error)))

    def plain(ctx, operations):
        for operation in operations:
            if operation != ("suspend",):
                one(ctx, operation)
        memories.append((held(ctx.short_term_memory), held(ctx.sensory_memory)))

    async def suspending(ctx, operations):
        for operation in operations:
            if operation == ("suspend",):
                await ctx.durable_execute_async(lambda: None)
            else:
                one(ctx, operation)
        memories.append((held(ctx.short_term_memory), held(ctx.sensory_memory)))

    body = suspending if agent is CoroutineStage else plain
    runner = local_runner(agent(), baseLogDir=str(folder))
    for operations in runs:
        perform(runner, lambda _, ctx, each=operations: body(ctx, each))
    return seen, memories


def held(root):
    """What is reachable of a memory, as far as JSON can hold it."""
    values = {}
    store = root._LocalMemoryObject__store
    waiting = [("", name) for name in root.get_field_names()]
    while waiting:
        prefix, name = waiting.pop()
        path = f"{prefix}{name}"
        value = store[path]
        if hasattr(value, "subfields"):
            waiting.extend((f"{path}.", each) for each in value.subfields)
        elif strict_snapshot(value) is not None:
            values[path] = decode_plain(encode_plain(value))
    return values


def told(folder):
    """Short-term and sensory memory at the end of each run, from write events only."""
    memories, short, sensory = [], {}, {}
    for line in log_lines(folder):
        if line["event_type"] == BEGIN:
            sensory = {}
        elif line["event_type"] in WRITES:
            memory = short if WRITES[line["event_type"]] == "short" else sensory
            left_out = line.get("entity_metadata", {}).get("unrepresentable_paths", ())
            apply_writes(memory, line["event_attributes"]["value"], left_out)
        elif line["event_type"] == END:
            memories.append((dict(short), sensory))
    return memories


def without_objects(told, held):
    """An entry that is null and of which memory knows nothing was an object."""
    return {
        path: value for path, value in told.items() if value is not None or path in held
    }


@pytest.fixture
def observed(instrument):
    instrument(event_log_dir=None, options=ALL)


@slow
@given(runs=RUNS, agent=st.sampled_from([Stage, CoroutineStage]))
def test_what_is_folded_and_applied_again_is_what_memory_holds(observed, runs, agent):
    with tempfile.TemporaryDirectory() as folder:
        _, memories = story(runs, folder, agent=agent)

        rebuilt = told(Path(folder))

        assert len(rebuilt) == len(runs)
        for (short, sensory), (held_short, held_sensory) in zip(
            rebuilt, memories, strict=True
        ):
            assert without_objects(short, held_short) == held_short
            assert without_objects(sensory, held_sensory) == held_sensory


@slow
@given(runs=RUNS)
def test_every_begin_event_is_what_the_writes_before_it_give(observed, runs):
    with tempfile.TemporaryDirectory() as folder:
        story(runs, folder)
        lines = log_lines(Path(folder))

        begun = [line for line in lines if line["event_type"] == BEGIN]
        ended = [line for line in lines if line["event_type"] == END]
        for before, after, (short, _) in zip(
            ended[:-1], begun[1:], told(Path(folder)), strict=False
        ):
            snapshot = after["event_attributes"]["value"]
            assert before["event_attributes"]["value"] == snapshot
            assert without_objects(short, snapshot) == snapshot


@slow
@given(runs=RUNS, agent=st.sampled_from([Stage, CoroutineStage]))
def test_observation_changes_nothing_that_an_action_can_see(instrument, runs, agent):
    with tempfile.TemporaryDirectory() as folder:
        uninstrument()
        alone = story(runs, folder, within_limits=False, agent=agent)
        instrument(event_log_dir=None, options=ALL)

        assert story(runs, folder, within_limits=False, agent=agent) == alone


# Where equality cannot be asked, and what is told instead.


def last(folder):
    [*_, (short, _)] = told(folder)
    return short


def run(folder, *bodies):
    memories = []
    runner = local_runner(Stage(), baseLogDir=str(folder))
    for body in bodies:

        def act(_, ctx, body=body):
            body(ctx.short_term_memory)
            memories.append(held(ctx.short_term_memory))

        perform(runner, act)
    return memories[-1]


def test_a_value_changed_in_place_after_it_was_read_is_told_as_it_was_set(
    observed, tmp_path
):
    memory = run(
        tmp_path,
        lambda memory: memory.set("basket", ["lamp"]),
        lambda memory: memory.get("basket").append("mug"),
        lambda _: None,
    )

    assert memory == {"basket": ["lamp", "mug"]}
    assert last(tmp_path) == {"basket": ["lamp"]}
    # The next snapshot puts it right.
    snapshots = [
        line["event_attributes"]["value"]
        for line in log_lines(tmp_path)
        if line["event_type"] == BEGIN
    ]
    assert snapshots == [{}, {"basket": ["lamp"]}, {"basket": ["lamp", "mug"]}]


def test_an_object_made_anew_is_told_as_empty_although_the_host_keeps_what_is_below(
    observed, tmp_path
):
    memory = run(
        tmp_path,
        lambda memory: memory.set("user.address.city", "London"),
        lambda memory: [
            memory.new_object("user"),
            memory.set("user.address.street", "Dorset Street"),
        ],
    )

    street = {"user.address.street": "Dorset Street"}
    assert memory == {"user.address.city": "London", **street}
    assert last(tmp_path) == street


def test_a_value_that_an_object_replaces_is_gone_in_both(observed, tmp_path):
    memory = run(
        tmp_path,
        lambda memory: memory.set("user", "ada"),
        lambda memory: memory.set("user.name", "ada"),
        lambda memory: memory.set("count", 1),
        lambda memory: memory.new_object("count", overwrite=True),
    )

    assert memory == {"user.name": "ada"}
    assert last(tmp_path) == {"user.name": "ada", "count": None}


def test_the_writes_of_a_failed_action_are_in_memory_but_not_in_the_log(
    observed, tmp_path
):
    runner = local_runner(Stage(), baseLogDir=str(tmp_path))

    def failing(_, ctx):
        ctx.short_term_memory.set("unrecorded", 1)
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        perform(runner, failing)
    perform(runner, lambda *_: None)

    assert told(tmp_path) == [({}, {})] * 2
    snapshots = [
        line["event_attributes"]["value"]
        for line in log_lines(tmp_path)
        if line["event_type"] == BEGIN
    ]
    assert snapshots == [{}, {"unrecorded": 1}]


def test_a_value_that_json_cannot_hold_is_forgotten(observed, tmp_path):
    memory = run(
        tmp_path,
        lambda memory: memory.set("path", 1),
        lambda memory: memory.set("path", math.nan),
    )

    assert memory == {}
    assert last(tmp_path) == {}
