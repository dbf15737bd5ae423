"""Every configuration is accepted by its binary, and the compose file fits them."""

import re
import subprocess

import pytest
import yaml

from binaries import COLLECTOR, CONFIGURATIONS, JAEGER

BINARIES = {
    "event-log.yaml": COLLECTOR,
    "jaeger.yaml": JAEGER,
    "production.yaml": JAEGER,
}


def settings_named_in(text):
    return set(re.findall(r"\$\{env:(\w+):-", text))


def test_every_file_has_a_binary_that_runs_it():
    files = {path.name for path in CONFIGURATIONS.glob("*.yaml")}

    assert files - {"compose.yaml"} == set(BINARIES)


@pytest.mark.parametrize("name", BINARIES)
def test_it_is_accepted_as_it_is(name):
    command = [BINARIES[name], "validate", "--config", CONFIGURATIONS / name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", BINARIES)
def test_its_head_tells_every_setting(name):
    text = (CONFIGURATIONS / name).read_text()
    head = text.partition("\n\nreceivers:")[0]
    told = re.findall(r"^#   ([A-Z_, ]+?)  ", head, re.MULTILINE)

    assert {each for names in told for each in names.split(", ")} == settings_named_in(
        text
    )


def services():
    compose = yaml.safe_load((CONFIGURATIONS / "compose.yaml").read_text())
    return compose["services"].items()


@pytest.mark.parametrize(("name", "service"), services())
def test_containers_use_these_files_and_settings_that_they_have(name, service):
    mounted = dict(
        volume.split(":")[:2] for volume in service["volumes"] if volume[0] == "."
    )
    [(file, inside)] = mounted.items()
    text = (CONFIGURATIONS / file).read_text()

    assert service["command"] == ["--config", inside]
    assert set(service["environment"]) <= settings_named_in(text)
