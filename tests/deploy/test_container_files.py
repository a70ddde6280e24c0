"""What the files for containers say; `make test-container` runs the image itself."""

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from feedkeep.config.settings import ENVIRONMENT_PREFIX, IN_A_FILE, Settings

PROJECT = Path(__file__).parents[2]
COMPOSED = ["compose.yaml", "compose.postgres.yaml"]
SETTINGS = {field.name for field in msgspec.structs.fields(Settings)}


def composed(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((PROJECT / name).read_text("utf-8"))
    return content


def setting_of(variable: str) -> str:
    return variable.removeprefix(ENVIRONMENT_PREFIX).removesuffix(IN_A_FILE).lower()


@pytest.mark.parametrize("name", COMPOSED)
def test_every_service_of_compose_runs_without_rights(name):
    for service in composed(name)["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["healthcheck"]["test"][0] == "CMD"  # without a shell


@pytest.mark.parametrize("name", COMPOSED)
def test_the_log_of_every_service_of_compose_is_rotated(name):
    for service in composed(name)["services"].values():
        options = service["logging"]["options"]
        assert (options["max-size"], options["max-file"]) == ("10m", "5")


@pytest.mark.parametrize("name", COMPOSED)
def test_what_compose_sets_are_settings_and_every_secret_comes_from_a_file(name):
    content = composed(name)
    feedkeep = content["services"]["feedkeep"]
    variables: dict[str, str] = feedkeep["environment"]
    assert {setting_of(variable) for variable in variables} <= SETTINGS
    read = {v for variable, v in variables.items() if variable.endswith(IN_A_FILE)}
    assert read == {f"/run/secrets/{secret}" for secret in feedkeep.get("secrets", [])}
    for secret in content.get("secrets", {}).values():
        assert secret["file"].startswith("./secrets/")
    ignored = (PROJECT / ".gitignore").read_text("utf-8").splitlines()
    assert "secrets/" in ignored


def test_what_the_image_sets_are_settings():
    told = (PROJECT / "Containerfile").read_text("utf-8")
    found = re.findall(rf"\b{ENVIRONMENT_PREFIX}\w+(?==)", told)
    assert len(found) == 2
    assert {setting_of(variable) for variable in found} <= SETTINGS


def test_what_is_copied_into_the_image_is_not_ignored():
    told = (PROJECT / "Containerfile").read_text("utf-8")
    copied = {
        path
        for line in re.findall(r"^COPY (?!--from)(.*)", told, re.MULTILINE)
        for path in line.split()[:-1]
    }
    lines = (PROJECT / ".containerignore").read_text("utf-8").splitlines()
    assert copied == {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert all((PROJECT / path).exists() for path in copied)


def test_the_labels_of_the_image_say_what_the_project_says_and_on_which_base_it_was_built():
    told = (PROJECT / "Containerfile").read_text("utf-8")
    final = told.rpartition("\nFROM ")[2]
    labels = dict(re.findall(r'org\.opencontainers\.image\.([\w.]+)="([^"]*)"', final))
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    assert labels == {
        "title": project["name"],
        "description": project["description"],
        "version": project["version"],
        "revision": "${REVISION}",
        "licenses": project["license"],
        "base.name": "${BASE}",
    }
    declared = re.findall(r"^ARG (\w+)", final.partition("LABEL")[0], re.MULTILINE)
    assert declared == ["BASE", "REVISION"]  # what is declared before FROM has no value after it
