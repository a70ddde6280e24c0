"""Deployment: container files, systemd units, and the filters of bans.

`make test-container` runs the image itself.
"""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import msgspec
import pytest
import yaml
from feedkeep_process import FeedkeepProcess

from feedkeep.config.settings import ENVIRONMENT_PREFIX, IN_A_FILE, Settings
from feedkeep.security.throttle import PER_ACCOUNT_AND_ADDRESS

PROJECT = Path(__file__).parents[2]
DEPLOY = PROJECT / "deploy"
UNITS = DEPLOY / "systemd"
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


# Units: what systemd says of them, and whether their commands work.

SERVICES = ("feedkeep.service", "feedkeep-backup.service")
ANALYZE = shutil.which("systemd-analyze")

HARDENING = {
    "NoNewPrivileges": "true", "CapabilityBoundingSet": "", "AmbientCapabilities": "",
    "ProtectSystem": "strict", "ProtectHome": "true", "PrivateTmp": "true",
    "PrivateDevices": "true", "PrivateUsers": "true", "PrivateIPC": "true", "ProtectClock": "true",
    "ProtectHostname": "true", "ProtectKernelLogs": "true", "ProtectKernelModules": "true",
    "ProtectKernelTunables": "true", "ProtectControlGroups": "true", "ProtectProc": "invisible",
    "ProcSubset": "pid", "RestrictNamespaces": "true", "RestrictRealtime": "true",
    "RestrictSUIDSGID": "true", "LockPersonality": "true", "MemoryDenyWriteExecute": "true",
    "SystemCallArchitectures": "native", "User": "feedkeep", "UMask": "0077",
}  # fmt: skip
"""Directives that the systemd rating depends on, checked in the file even without systemd."""


def directives(unit: str) -> dict[str, list[str]]:
    found = {}
    for line in (UNITS / unit).read_text().splitlines():
        name, is_there, value = line.partition("=")
        if is_there and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("unit", SERVICES)
def test_a_service_may_do_little_besides_its_work(unit, capsys):
    found = directives(unit)
    assert {name: " ".join(found[name]) for name in HARDENING} == HARDENING
    assert found["SystemCallFilter"][:2] == ["@system-service", "~@privileged @resources"]
    if ANALYZE is None:
        with capsys.disabled():
            sys.stdout.write(f"\nsystemd-analyze is not here: {unit} is checked, and not rated.\n")
        return
    command = [ANALYZE, "security", "--offline=true", "--no-pager", str(UNITS / unit)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rating = re.search(r"Overall exposure level for \S+: ([0-9.]+)", told)
    assert rating is not None, told
    assert float(rating[1]) <= 2.0, told


def test_systemd_finds_nothing_wrong_with_the_units(tmp_path):
    assert sorted(path.name for path in UNITS.iterdir()) == [
        "feedkeep-backup.service", "feedkeep-backup.timer", "feedkeep.env", "feedkeep.service",
        "feedkeep.socket",
    ]  # fmt: skip
    for path in UNITS.iterdir():
        text = path.read_text().replace("ExecStart=feedkeep ", f"ExecStart={sys.executable} ")
        (tmp_path / path.name).write_text(text)
    if ANALYZE is not None:  # the next tests look at the lines that are not rated
        units = [str(path) for path in tmp_path.iterdir() if path.suffix != ".env"]
        command = [ANALYZE, "verify", "--man=no", *units]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (told.returncode, told.stdout, told.stderr) == (0, "", "")


def test_timer_catches_up_without_running_everywhere_at_once_and_the_package_does_not_wait():
    timer = directives("feedkeep-backup.timer")
    told = [timer[name] for name in ("OnCalendar", "Persistent", "RandomizedDelaySec")]
    assert told == [["daily"], ["true"], ["1h"]]
    # The package waits for no service, which may itself wait for a database.
    told = (UNITS.parent / "debian" / "postinst").read_text()
    commands = re.findall(r"^[^#\n]*systemctl (.*\b(?:re)?start\b.*)", told, re.MULTILINE)
    assert len(commands) == 2
    assert all(command.startswith("--no-block ") for command in commands)


def test_their_commands_serve_and_back_up_what_they_name(tmp_path):
    service, backup = map(directives, SERVICES)
    assert service["Type"] == ["notify"]
    assert service["ExecStart"] == ["feedkeep serve"]
    [database] = service["Environment"]
    assert backup["Environment"] == [database]
    name, _, url = database.partition("=")
    assert name == "FEEDKEEP_DATABASE"

    for unit in (service, backup):
        for state in " ".join(unit["StateDirectory"]).split():
            (tmp_path / state).mkdir(exist_ok=True)
    [line] = backup["ExecStart"]
    program, *arguments = shlex.split(line.replace("/var/lib", str(tmp_path)))
    assert program == "feedkeep"
    with FeedkeepProcess(tmp_path, url.replace("/var/lib", str(tmp_path))) as process:
        process.must(*arguments)
    assert (tmp_path / "feedkeep" / "feedkeep.db").exists()
    assert len(list((tmp_path / "feedkeep-backups").iterdir())) == 1


# fail2ban and CrowdSec read the log that the service writes.


def test_who_guesses_on_is_banned_and_a_phone_with_an_old_password_is_not(tmp_path):
    shown = {"auth": ("anna", "guess"), "headers": {"X-Forwarded-For": "2001:db8::7"}}
    with FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1") as process:
        for _ in range(PER_ACCOUNT_AND_ADDRESS + 1):
            reply = httpx.get(f"{process.base_url}/subscriptions", **shown)
        assert reply.status_code == 429
    lines = process.log.read_text().splitlines()  # all of it, since the service has stopped
    told = configparser.RawConfigParser()
    told.read(DEPLOY / "fail2ban" / "filter.conf")
    pattern = told["Definition"]["failregex"].replace("<ADDR>", r"(?P<address>[0-9a-f.:]+)")
    found = [match["address"] for line in lines if (match := re.search(pattern, line))]
    assert found == ["2001:db8::7"]

    refused = [line for text in lines if (line := json.loads(text))["event"] == "login refused"]
    assert len(refused) == PER_ACCOUNT_AND_ADDRESS + 1
    parser = yaml.safe_load((DEPLOY / "crowdsec" / "parser.yaml").read_text())
    read = re.findall(r"JsonExtract\(evt\.Parsed\.message, '(\w+)'\)", str(parser))
    assert set(read) <= set(refused[-1])
    scenario = yaml.safe_load((DEPLOY / "crowdsec" / "scenario.yaml").read_text())
    [reason] = re.findall(r"evt\.Meta\.reason == '([^']*)'", scenario["filter"])
    assert [line["address"] for line in refused if line["reason"] == reason] == found
