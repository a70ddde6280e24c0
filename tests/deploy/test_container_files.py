"""What the files for containers say; `make test-container` runs the image itself."""

import re
import tomllib
from pathlib import Path

import msgspec
import pytest
import yaml

from feedkeep.config.settings import ENVIRONMENT_PREFIX, IN_A_FILE, Settings

PROJECT = Path(__file__).parents[2]
CONTAINERFILE = (PROJECT / "Containerfile").read_text("utf-8")
SETTINGS = {field.name for field in msgspec.structs.fields(Settings)}


def settings_of(variables) -> set[str]:
    prefix = ENVIRONMENT_PREFIX
    return {one.removeprefix(prefix).removesuffix(IN_A_FILE).lower() for one in variables}


@pytest.mark.parametrize("name", ["compose.yaml", "compose.postgres.yaml"])
def test_compose_runs_services_without_rights_and_rotates_logs_and_takes_secrets_from_files(name):
    content = yaml.safe_load((PROJECT / name).read_text("utf-8"))
    for service in content["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["healthcheck"]["test"][0] == "CMD"  # without a shell
        options = service["logging"]["options"]
        assert (options["max-size"], options["max-file"]) == ("10m", "5")
    feedkeep = content["services"]["feedkeep"]
    variables = feedkeep["environment"]
    assert settings_of(variables) <= SETTINGS
    read = {v for variable, v in variables.items() if variable.endswith(IN_A_FILE)}
    assert read == {f"/run/secrets/{secret}" for secret in feedkeep.get("secrets", [])}
    for secret in content.get("secrets", {}).values():
        assert secret["file"].startswith("./secrets/")
    assert "secrets/" in (PROJECT / ".gitignore").read_text("utf-8").splitlines()


def test_image_sets_settings_and_copies_what_is_not_ignored():
    found = re.findall(rf"\b{ENVIRONMENT_PREFIX}\w+(?==)", CONTAINERFILE)
    assert len(found) == 2
    assert settings_of(found) <= SETTINGS
    lines = re.findall(r"^COPY (?!--from)(.*)", CONTAINERFILE, re.MULTILINE)
    copied = {path for line in lines for path in line.split()[:-1]}
    ignored = (PROJECT / ".containerignore").read_text("utf-8").splitlines()
    assert copied == {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert all((PROJECT / path).exists() for path in copied)


def test_the_labels_of_the_image_say_what_the_project_says_and_on_which_base_it_was_built():
    final = CONTAINERFILE.rpartition("\nFROM ")[2]
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
