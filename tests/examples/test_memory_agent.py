"""The memory demo, as the README shows it."""

import json
import re

import pytest

from processes import NO_MEMORY, run_python

pytestmark = pytest.mark.memory

pytest.importorskip("mem0", reason="this version of the host has no mem0")

ITEM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

OUTPUTS = """\
{'ada': ['Likes red lamps']}
{'ada': "ada changed {'profile.visits': 1, 'profile.last_said': 'I like red lamps'}"}
{'ada': ['Likes blue lamps']}
{'ada': "ada changed {'profile.visits': 2, \
'profile.last_said': 'I now like blue lamps instead'}"}
{'ada': []}
{'ada': "ada changed {'profile.visits': 3, 'profile.last_said': 'Forget what I like'}"}
"""
RUN = """\
ProfileAgent  key ada  run …  complete
├─ _input_event
├─ _agent_run_begin_event
├─ action remember    finished    …  on _input_event
│  ├─ llm note_model  finished    …  gpt-4o-mini  tokens 20 in, 10 out
│  ├─ llm note_model  finished    …  gpt-4o-mini  tokens 20 in, 10 out
│  ├─ → _output_event
│  ├─ → _short_term_write_event
│  ├─ → _long_term_update_event
│  └─ → _long_term_search_event
└─ action observe     finished    …  on _short_term_write_event
   └─ → _output_event
"""
EVENTS = [
    ("_agent_run_begin_event", {}),
    (
        "_short_term_write_event",
        {"profile.visits": 1, "profile.last_said": "I like red lamps"},
    ),
    ("_long_term_update_event", {"notes.…": "Likes red lamps"}),
    (
        "_long_term_search_event",
        {"I like red lamps": [{"id": "…", "value": "Likes red lamps", "score": 3.0}]},
    ),
    (
        "_agent_run_begin_event",
        {"profile.last_said": "I like red lamps", "profile.visits": 1},
    ),
    (
        "_short_term_write_event",
        {"profile.visits": 2, "profile.last_said": "I now like blue lamps instead"},
    ),
    ("_long_term_update_event", {"notes.…": "Likes blue lamps"}),
    (
        "_long_term_search_event",
        {
            "I now like blue lamps instead": [
                {"id": "…", "value": "Likes blue lamps", "score": 5.0}
            ]
        },
    ),
    (
        "_agent_run_begin_event",
        {"profile.last_said": "I now like blue lamps instead", "profile.visits": 2},
    ),
    (
        "_short_term_write_event",
        {"profile.visits": 3, "profile.last_said": "Forget what I like"},
    ),
    ("_long_term_update_event", {"notes.…": None}),
    ("_long_term_search_event", {"Forget what I like": []}),
]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What the demo prints, with what differs from run to run left out."""
    folder = tmp_path_factory.mktemp("demo")
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from pathlib import Path\n"
        "from memory_demo import main\n"
        f"main(Path({str(folder)!r}))"
    )
    done = run_python(code, **dict.fromkeys(NO_MEMORY, ""))
    assert done.returncode == 0, done.stderr
    return done.stdout


def same_every_time(text):
    text = re.sub(r"run [0-9a-f]{8}", "run …", text)
    return re.sub(r"finished +[\d.]+ m?s", "finished    …", text)


def test_the_demo_prints_what_the_agent_answers(printed):
    assert printed.startswith(OUTPUTS)


def test_it_shows_a_tree_for_each_input(printed):
    assert same_every_time(printed).count(RUN) == 3


def test_it_shows_every_change_of_memory(printed):
    lines = [line for line in printed.splitlines() if line.startswith("_")]
    told = [line.split(" ", 1) for line in lines]

    assert [(kind, json.loads(ITEM.sub("…", value))) for kind, value in told] == EVENTS


def test_what_is_updated_and_deleted_is_what_was_added(printed):
    items = set(ITEM.findall(printed))

    assert len(items) == 1
