"""Settings: from flags, the environment and a file, in that order."""

import re
from pathlib import Path

import pytest

from feedkeep import __version__
from feedkeep.config import settings
from feedkeep.config.settings import InvalidSettings, Settings, load_settings, misspelt
from feedkeep.outbound.policy import policy_of


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path):
    config = tmp_path / "feedkeep.toml"
    config.write_text('host = "file"\nport = 1\nmax_items = 7\ncors_origins = ["https://a"]\n')
    environment = {"FEEDKEEP_HOST": "environment", "FEEDKEEP_PORT": "2", "OTHER": "x"}
    environment["FEEDKEEP_TRUSTED_PROXIES"] = " 10.0.0.1, 10.0.0.2,, "
    found = load_settings({"host": None, "port": 3}, config, environment)
    assert (found.host, found.port, found.max_items) == ("environment", 3, 7)
    assert found.cors_origins == ("https://a",)
    assert found.trusted_proxies == ("10.0.0.1", "10.0.0.2")
    assert found.max_body_bytes == Settings().max_body_bytes


def refusal(environment, **flags) -> str:
    with pytest.raises(InvalidSettings) as caught:
        load_settings(flags, None, environment)
    return str(caught.value)


A_PORT, A_LIST = "a whole number from 0 to 65535.", "a list of at most 1,000 values"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("PORT", "x", f'FEEDKEEP_PORT is "x", and has to be {A_PORT}'),
        ("PORT", "65536", 'FEEDKEEP_PORT is "65536", and has to be '),
        ("MAX_ITEMS", "0", "a whole number of at least 1."),
        ("METRICS_PORT", "x", f"has to be {A_PORT}"),
        ("LOG_LEVEL", "loud", "has to be debug, info, warning or error."),
        ("REGISTRATION", "invite", "has to be closed, invited or open."),
        ("DRAIN_SECONDS", "-1", "a number from 0 to 600."),
        ("DRAIN_SECONDS", "601", "a number from 0 to 600."),
        ("HISTORY_DAYS", "-1", "from 0 to 36500."),
        ("HISTORY_DAYS", "36501", "from 0 to 36500."),
        ("MAX_IN_FLIGHT_BYTES", "4194303", "max_in_flight_bytes"),
        ("FETCH_PORTS", "0", f"{A_LIST}, each a whole"),
        ("FETCH_PORTS", "3000,https", 'FEEDKEEP_FETCH_PORTS is ["3000", "https"], and'),
        ("FETCH_PORTS", "3000," * 1_001, f'"30..., and has to be {A_LIST[:24]}'),
        ("TRUSTED_PROXIES", "::1," * 1_001, f"has to be {A_LIST}"),
        ("FETCH_CONTACT", "me (at home)", "without spaces and parentheses."),
        ("FETCH_CONTACT", "me\n", "at most 200 letters, digits and signs"),
        ("OIDC_ADMIN_CLAIM", "admins", '_CLAIM is "admins", and has to be claim=value, such as'),
        ("FETCH_ALLOWED", "10.0.0.0/8, home", 'fetch_allowed has "home"'),
        ("FETCH_DENIED", "10.0.0.1/8", 'fetch_denied has "10.0.0.1/8"'),
        # Values that could never match a proxy or an origin:
        ("TRUSTED_PROXIES", "nginx", "trusted_proxies has ..., such as "),
        ("TRUSTED_PROXIES", "127.0.0.1, 172.18.0.1/16", "trusted_proxies has ..., such as "),
        ("CORS_ORIGINS", "player.example", "cors_origins has ..., such as "),
        ("CORS_ORIGINS", "https://player.example/app", "cors_origins has ..., such as "),
        # A text that is not UTF-8, and a long one:
        ("PORT", "a\udcff", "FEEDKEEP_PORT is ... has to be "),
        ("LOG_LEVEL", "a\udcff", "FEEDKEEP_LOG_LEVEL is ... has to be "),
        ("PORT", "x" * 10_000, "FEEDKEEP_PORT is ... has to be "),
        ("LOG_LEVEL", "x" * 10_000, "FEEDKEEP_LOG_LEVEL is ... has to be "),
    ],
)
def test_value_that_is_not_valid_is_told_with_its_name_and_what_it_may_be(name, value, reason):
    told = refusal({f"FEEDKEEP_{name}": value})
    assert re.search(".*".join(map(re.escape, reason.split("..."))), told)
    assert len(told) < 300


def test_refusal_names_what_was_given_and_not_what_a_file_holds(tmp_path):
    (tmp_path / "secret").write_text("correct horse")
    in_a_file = {"FEEDKEEP_PORT_FILE": str(tmp_path / "secret")}
    assert refusal(in_a_file).startswith("FEEDKEEP_PORT_FILE has to be a whole number")
    by_flag = refusal({"FEEDKEEP_LOG_LEVEL": "info"}, log_level="loud")
    assert by_flag.startswith('--log-level is "loud", and has to be debug,')
    both = {"FEEDKEEP_METRICS_PORT": "65535", "FEEDKEEP_WORKERS": "2"}  # each has a port
    assert "metrics_port" in refusal(both)
    in_a_file["FEEDKEEP_PORT"] = "2"
    assert "Both FEEDKEEP_PORT and FEEDKEEP_PORT_FILE are set" in refusal(in_a_file)


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_every_setting_can_be_in_a_file_that_the_environment_names(tmp_path, end):
    values = {
        "database": "postgresql://me:secret@db.example/feeds",
        "port": "9090",
        "trusted_proxies": "10.0.0.1, 10.0.0.2",
        "admin_name": "anna",
        "admin_password": " open\nsesame ",
    }
    environment = {}
    for name, value in values.items():
        (tmp_path / name).write_bytes(f"{value}{end}".encode())
        environment[f"FEEDKEEP_{name.upper()}_FILE"] = str(tmp_path / name)
    found = load_settings({}, None, environment)
    assert (found.database, found.port) == (values["database"], 9090)
    assert found.trusted_proxies == ("10.0.0.1", "10.0.0.2")
    assert (found.admin_name, found.admin_password) == ("anna", " open\nsesame ")


def test_variable_that_looks_like_a_setting_and_is_none_is_told_with_what_was_meant():
    meant = {
        "FEEDKEEP_PROT": "FEEDKEEP_PORT",
        "FEEDKEEP_FETHC": "FEEDKEEP_FETCH",
        "FEEDKEEP_DB": "FEEDKEEP_DATABASE",
        "FEEDKEEP_DB_FILE": "FEEDKEEP_DATABASE_FILE",
        "FEEDKEEP_DATABASE_URL": "FEEDKEEP_DATABASE",
        "FEEDKEEP_LOG": "FEEDKEEP_LOG_LEVEL",
        "FEEDKEEP_OIDC_SECRET": "FEEDKEEP_OIDC_CLIENT_SECRET",
        "feedkeep_port": "FEEDKEEP_PORT",
    }
    right = ("PORT", "FETCH_FILE", "CONFIG", "DEBUG", "URL", "TOKEN", "")
    given = [*meant, "PROT", *(f"FEEDKEEP_{name}" for name in right)]
    assert dict(misspelt(dict.fromkeys(given, "1"))) == meant


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "no such file"),
        (b"", "it holds nothing"),
        (b"\n", "it holds nothing"),
        (b"\xff", "it is not UTF-8 text"),
        (b"8" * 65_537, "it holds more than 65,536 bytes"),
    ],
)
def test_file_that_cannot_be_used_is_told_and_what_is_in_it_is_not(tmp_path, content, reason):
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    told = refusal({"FEEDKEEP_DATABASE_FILE": str(file)})
    assert told.startswith(f"Cannot use {file}, which FEEDKEEP_DATABASE_FILE names: ")
    assert reason in told
    assert len(told) < 300
    for name in (str(tmp_path), "a\0b"):
        assert "Cannot use" in refusal({"FEEDKEEP_DATABASE_FILE": name})


def test_first_account_has_a_name_and_a_password_which_is_in_a_file(tmp_path):
    told = refusal({"FEEDKEEP_ADMIN_NAME": "anna", "FEEDKEEP_ADMIN_PASSWORD": "opensesame"})
    assert "FEEDKEEP_ADMIN_PASSWORD_FILE" in told
    assert "opensesame" not in told
    (tmp_path / "value").write_text("opensesame")
    for name in ("ADMIN_NAME", "ADMIN_PASSWORD"):
        told = refusal({f"FEEDKEEP_{name}_FILE": str(tmp_path / "value")})
        assert "admin_name and admin_password" in told


@pytest.mark.parametrize(
    ("host", "base"),
    [
        ("0.0.0.0", "http://127.0.0.1:8080"),  # noqa: S104
        ("::", "http://[::1]:8080"),
        ("127.0.0.2", "http://127.0.0.2:8080"),
        ("::1", "http://[::1]:8080"),
    ],
)
def test_what_listens_on_all_addresses_is_reached_on_loopback(host, base):
    assert settings.public_base(Settings(host=host)) == base


def test_door_is_as_the_settings_say():
    usual = policy_of(Settings())
    assert usual.user_agent == f"feedkeep/{__version__}"
    assert usual.ports == {80, 443, 8080, 8443}
    assert usual.look_ups > Settings().fetch_connections  # one that is silent leaves others theirs
    assert not usual.addresses.admits("192.168.1.7")
    environment = {
        "FEEDKEEP_FETCH_ALLOWED": "192.168.1.0/24,fd00::7",
        "FEEDKEEP_FETCH_DENIED": "8.8.8.0/24",
        "FEEDKEEP_FETCH_PORTS": "3000, 8000",
        "FEEDKEEP_FETCH_CONTACT": "https://home.example/bot",
        "FEEDKEEP_FETCH_CONNECTIONS": "100",
    }
    policy = policy_of(load_settings({}, None, environment))
    assert policy.user_agent == f"feedkeep/{__version__} (+https://home.example/bot)"
    assert policy.ports == usual.ports | {3_000, 8_000}
    assert policy.look_ups > 100
    asked = ("192.168.1.7", "fd00::7", "9.9.9.9", "192.168.2.7", "fd00::8", "8.8.8.8")
    assert [policy.addresses.admits(one) for one in asked] == [True] * 3 + [False] * 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not toml", "{} is not valid TOML: "),
        ("colour = 5", "colour in {} is no setting."),
        ("registraton = 'invited'", "registraton in {} is no setting; registration is one."),
        ("port = 'x'", 'port in {} is "x", and has to be a whole number from 0 to 65535.'),
        ("port = true", "port in {} is true, and has to be a whole number from 0 to 65535."),
        ("trusted_proxies = '10.0.0.7'", 'is "10.0.0.7", and has to be a list of at most 1,000 v'),
        ("admin_password = 12345678", "admin_password in {} has to be a text."),
    ],
)
def test_file_that_is_not_valid_is_told_and_what_would_be(tmp_path, text, reason):
    config = tmp_path / "feedkeep.toml"
    config.write_text(text)
    with pytest.raises(InvalidSettings, match=re.escape(reason.format(config))):
        load_settings({}, config, {})


def test_database_lies_in_the_data_directory_of_the_user(monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert Settings().database == "sqlite:////data/feedkeep/feedkeep.db"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert Settings().database == "sqlite:////home/me/.local/share/feedkeep/feedkeep.db"


def test_database_url_names_a_relative_or_an_absolute_file_or_is_refused():
    spaced = settings.sqlite_path("sqlite:////var/lib/feeds%20of%20us.db")
    assert spaced == Path("/var/lib/feeds of us.db")
    assert settings.sqlite_path("sqlite:///feeds.db") == Path("feeds.db").absolute()
    others = ("sqlite://host/x", "mysql:///x", "sqlite://[x", "sqlite:///a%00b")
    for url in ("", "feeds.db", "sqlite:", "sqlite://", "sqlite:///", *others):
        with pytest.raises(InvalidSettings, match="Cannot use"):
            settings.sqlite_path(url)
