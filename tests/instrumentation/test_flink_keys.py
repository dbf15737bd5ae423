"""The text of a key as a Flink operator holds it: nothing of a key is ever run."""

import datetime as dt
import decimal
import os
import uuid
from types import SimpleNamespace

import cloudpickle
import pytest

from opentelemetry.instrumentation.flink_agents import _flink_identity


@pytest.fixture
def text_of(monkeypatch):
    """The text of the key that an operator, in place of Java's, holds."""

    def text(value):
        row = SimpleNamespace(getField=[value].__getitem__)
        operator = SimpleNamespace(getCurrentKey=lambda: row)
        monkeypatch.setattr(_flink_identity, "_operator", lambda _: operator)
        return _flink_identity.key_text(SimpleNamespace(_j_runner_context=None))

    return text


@pytest.mark.parametrize(
    "key",
    [
        "key-1",
        "Schlüssel",
        7,
        2.5,
        True,
        None,
        b"raw",
        ("a", 1, ("b",)),
        frozenset({1}),
        dt.datetime(2026, 1, 2, 3, tzinfo=dt.timezone.utc),
        dt.date(2026, 1, 2),
        decimal.Decimal("1.20"),
        uuid.UUID(int=7),
    ],
    ids=repr,
)
def test_a_key_without_a_type_has_the_text_that_the_job_sees(text_of, key):
    assert text_of(cloudpickle.dumps(key)) == str(key)


@pytest.mark.parametrize("key", ["key-1", 7, 2.5, True], ids=repr)
def test_a_key_of_an_explicit_type_is_its_text(text_of, key):
    assert text_of(key) == str(key)


@pytest.mark.parametrize("key", [b"N.", b"I7\n.", b"", b"cos\nsystem\n(tR."], ids=repr)
def test_a_key_that_is_bytes_by_type_is_its_own_text(text_of, key):
    assert text_of(key) == str(key)


class Running:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_key_that_would_run_code_is_not_known(text_of, tmp_path):
    made = tmp_path / "made"

    assert text_of(cloudpickle.dumps(Running(made))) is None
    assert not made.exists()


def test_a_key_of_a_class_of_the_job_is_not_known(text_of):
    assert text_of(cloudpickle.dumps(Running("/nowhere"))) is None


def test_a_broken_pickle_is_not_known(text_of):
    assert text_of(b"\x80\x04broken") is None
