"""What is installed: names, entry points, types and the direction of imports."""

import ast
import importlib
from importlib import metadata, resources
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from opentelemetry.instrumentation.flink_agents import FlinkAgentsInstrumentor

DISTRIBUTION = "opentelemetry-instrumentation-flink-agents"
CORE = "flink_agents_eventlog"
EXPORTER = "opentelemetry.exporter.flink_agents"
INSTRUMENTATION = "opentelemetry.instrumentation.flink_agents"

PUBLIC = {
    EXPORTER: ["BackendError", "EventLogSpanProcessor", "Replayed", "replay"],
    INSTRUMENTATION: [
        "ConfigurationError",
        "FlinkAgentsInstrumentor",
        "Masking",
        "instrument",
        "uninstrument",
    ],
}


def sources(package):
    root = resources.files(package)
    return sorted(Path(str(root)).rglob("*.py"))


def imported(path, package):
    """Every module that the file names in an import, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module
            # `from opentelemetry.exporter import flink_agents` names it too.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def offenders(package, *forbidden):
    return [
        f"{path.name}: {name}"
        for path in sources(package)
        for name in imported(path, package)
        if any(f"{name}.".startswith(f"{root}.") for root in forbidden)
    ]


def test_the_core_imports_neither_opentelemetry_nor_the_host():
    assert offenders(CORE, "opentelemetry", "flink_agents", "pyflink", "wrapt") == []


def test_the_exporter_imports_neither_the_instrumentation_nor_the_host():
    assert (
        offenders(
            EXPORTER,
            "opentelemetry.instrumentation",
            "flink_agents",
            "pyflink",
            "wrapt",
        )
        == []
    )


def test_nothing_imports_what_only_some_hosts_bring_along():
    for package in (CORE, EXPORTER, INSTRUMENTATION):
        assert offenders(package, "mem0", "chromadb", "mcp", "pyflink") == []


@pytest.mark.parametrize("package", [CORE, EXPORTER, INSTRUMENTATION])
def test_every_package_carries_its_types(package):
    assert resources.files(package).joinpath("py.typed").is_file()


@pytest.mark.parametrize("package", PUBLIC)
def test_the_public_names_are_these(package):
    module = importlib.import_module(package)

    assert module.__all__ == PUBLIC[package]
    for name in module.__all__:
        assert hasattr(module, name)


def test_namespaces_of_opentelemetry_are_shared():
    for namespace in (
        "opentelemetry",
        "opentelemetry.exporter",
        "opentelemetry.instrumentation",
    ):
        for folder in importlib.import_module(namespace).__path__:
            if (Path(folder) / "flink_agents").exists():
                assert not (Path(folder) / "__init__.py").exists() or (
                    "site-packages" in folder
                )
    files = [str(each) for each in metadata.files(DISTRIBUTION) or []]
    assert "opentelemetry/__init__.py" not in files


def test_the_extra_says_which_hosts_the_instrumentor_knows():
    declared = [
        Requirement(each)
        for each in metadata.requires(DISTRIBUTION)
        if 'extra == "instruments"' in each or "extra == 'instruments'" in each
    ]
    known = [
        Requirement(each)
        for each in FlinkAgentsInstrumentor().instrumentation_dependencies()
    ]

    assert [(each.name, each.specifier) for each in declared] == [
        (each.name, each.specifier) for each in known
    ]


def test_no_dependency_is_pinned():
    for each in metadata.requires(DISTRIBUTION):
        assert "==" not in str(Requirement(each).specifier)


def test_opentelemetry_and_the_shell_find_it():
    found = {
        (each.group, each.name): each.value
        for each in metadata.distribution(DISTRIBUTION).entry_points
    }

    assert found["opentelemetry_instrumentor", "flink_agents"] == (
        f"{INSTRUMENTATION}:FlinkAgentsInstrumentor"
    )
    assert found["console_scripts", "flink-agents-eventlog"] == (
        f"{CORE}.commands:main"
    )
    for each in metadata.distribution(DISTRIBUTION).entry_points:
        assert each.load() is not None


def test_it_may_be_used_and_passed_on():
    about = metadata.metadata(DISTRIBUTION)

    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == "<3.13,>=3.10"
