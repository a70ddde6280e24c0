"""`feedkeep doctor` says of each thing whether it is right, and by its exit status of all."""

import asyncio
import socket
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest
import trustme
from fake_provider import FakeProvider, settings_for
from feedkeep_process import FeedkeepProcess
from postgres_server import drop_database, execute, new_database
from web_of_hosts import Host, WebOfHosts, reply

from feedkeep.cli.diagnosis import Verdict
from feedkeep.cli.doctor import one_feed
from feedkeep.config.settings import Settings
from feedkeep.model import Restored, replace
from feedkeep.outbound.targets import SystemNames
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.runtime import wall_clock

FEED = b"<rss><channel><title>A feed</title><item><guid>1</guid></item></channel></rss>"


@pytest.fixture
def host():
    """Another host, which has a feed."""
    with WebOfHosts() as web:
        host = web.host("feeds.example")
        host.answers["/feed"] = reply(FEED)
        yield host


@pytest.fixture
def owner(tmp_path, host):
    """An operator's commands; feedkeep asks this machine's own hosts, and listens at no port."""
    return FeedkeepProcess(
        tmp_path,
        port=free_port(),
        fetch="public",
        fetch_allowed="127.0.0.0/8",
        fetch_ports=str(host.port),
    )


def at(host: Host, path: str) -> str:
    """Return a URL that needs no name."""
    return f"http://{host.address}:{host.port}{path}"


def free_port() -> str:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return str(unused.getsockname()[1])


def examined(owner: FeedkeepProcess, feed: str, status: int) -> dict[str, tuple[str, str]]:
    """Return by subject what was found, and how bad that is."""
    done = owner.run("doctor", "--feed", feed)
    assert (done.returncode, done.stderr) == (status, ""), done.stdout
    *lines, last = done.stdout.splitlines()
    found: dict[str, tuple[str, str]] = {}
    for line in lines:
        verdict, subject, text = line[:5].strip(), *line[6:].split(": ", 1)
        found.setdefault(subject, (verdict, text))
    faults = sum(line.startswith("fault ") for line in lines)
    assert last.startswith(f"{faults} fault" if faults else "No fault found.")
    return found


def test_where_all_is_well_each_thing_is_told_and_nothing_changes(owner, host):
    with owner:
        owner.environment["FEEDKEEP_PORT"] = str(httpx.URL(owner.base_url).port)
        owner.environment["FEEDKEEP_PUBLIC_URL"] = owner.base_url
        owner.must("backup", str(owner.folder / "copy.db"))
        found = examined(owner, at(host, "/feed"), 0)
        assert {subject for subject, (verdict, _) in found.items() if verdict == "ok"} >= {
            "settings", "database", "disk", "backup", "proxies", "address", "public_url", "names",
            "feed",
        }  # fmt: skip
        assert found["clock"][0] in {"ok", "note"}
        assert found["feed"][1].endswith("A feed")
        assert "answers at" in found["address"][1]
        owner.must("check")


def test_before_the_first_start_there_is_no_database_and_none_is_made(owner, host):
    found = examined(owner, at(host, "/feed"), 1)
    assert found["database"][0] == "fault"
    assert found["clock"][0] in {"ok", "note"}
    assert found["address"][0] == "note"
    assert found["feed"][0] == "ok"
    assert list(owner.folder.glob("feedkeep.db*")) == []


@pytest.mark.parametrize(
    ("variable", "value", "subject", "said"),
    [
        ("PORT", "x", "settings", "has to be a whole number"),
        ("PROT", "1", "settings", "FEEDKEEP_PORT is one"),
        ("DB", "sqlite:///other.db", "settings", "FEEDKEEP_DATABASE is one"),
        ("OIDC_ADMIN_CLAIM", "admins", "settings", "has to be claim=value"),
        ("PUBLIC_URL", "https://feeds.example", "proxies", "Set trusted_proxies"),
        ("TRUSTED_PROXIES", "0.0.0.0/0", "proxies", "any address"),
        ("TRUSTED_PROXIES", "0.0.0.0/1,128.0.0.0/1", "proxies", "any address"),
        ("TRUSTED_PROXIES", "::/1,8000::/1", "proxies", "any address"),
        ("TLS_CERT", "/nowhere/cert.pem", "tls", "Cannot use /nowhere/cert.pem"),
        ("HOST", "192.0.2.1", "address", "Cannot listen on 192.0.2.1"),
    ],
)
def test_a_setting_that_does_not_work_is_a_fault_that_says_what_to_do(
    owner, host, variable, value, subject, said
):
    owner.must("migrate")
    owner.environment[f"FEEDKEEP_{variable}"] = value
    verdict, text = examined(owner, at(host, "/feed"), 1)[subject]
    assert verdict == "fault"
    assert said in text


@pytest.mark.parametrize(
    ("path", "subject", "said"),
    [
        ("http://{host}/nothing", "feed", "cannot be read"),
        ("http://a|b.example/feed", "feed", "not valid"),
        ("http://a..example/feed", "feed", "Invalid host"),
        ("feeds.example", "feed", "http"),
    ],
)
def test_a_feed_that_cannot_be_read_is_a_fault(owner, host, path, subject, said):
    owner.must("migrate")
    url = path.format(host=f"{host.address}:{host.port}")
    verdict, text = examined(owner, url, 1)[subject]
    assert (verdict, said in text) == ("fault", True), text


def test_a_name_that_the_resolver_does_not_know_is_a_fault(monkeypatch):
    async def look_up(_, host):
        raise socket.gaierror(socket.EAI_NONAME, f"no {host}")

    async def found():
        return [one async for one in one_feed(Settings(), "https://münchen.example/feed")]

    monkeypatch.setattr(SystemNames, "look_up", look_up)
    [finding] = asyncio.run(found())
    assert finding.verdict is Verdict.FAULT
    assert "no xn--mnchen-3ya.example" in finding.text


@pytest.mark.parametrize("file", ["feedkeep.db", "feedkeep.db-wal"])
def test_database_file_that_all_users_may_read_is_a_fault(owner, host, file):
    with owner:
        owner.environment["FEEDKEEP_PORT"] = str(httpx.URL(owner.base_url).port)
        assert examined(owner, at(host, "/feed"), 0)["rights"][0] == "ok"
        (owner.folder / file).chmod(0o644)
        verdict, text = examined(owner, at(host, "/feed"), 1)["rights"]
    assert verdict == "fault"
    assert f"chmod o= {owner.folder / file}" in text


def test_stamps_far_ahead_of_the_clock_are_a_fault(owner, host):
    owner.must("migrate")

    async def set_clock_ahead(service):
        account = await service.accounts.create("alice", None)
        ahead = replace(account, last_action_stamp=shift(wall_clock.now(), 60 * DAY_US))
        decided = Restored(ahead, newest=None)
        await service.store.accounts.note_restored(account.id, lambda *_: decided)

    owner.use(set_clock_ahead)
    verdict, text = examined(owner, at(host, "/feed"), 1)["clock"]
    assert (verdict, "If the clock is behind, set it" in text) == ("fault", True), text


@pytest.mark.parametrize("password_login", ["true", "false"])
def test_provider_that_does_not_answer_is_a_fault(owner, host, password_login):
    owner.must("migrate")
    with FakeProvider() as fake:
        owner.environment |= {
            f"FEEDKEEP_{name.upper()}": value for name, value in settings_for(fake).items()
        }
        owner.environment["FEEDKEEP_PASSWORD_LOGIN"] = password_login
        assert examined(owner, at(host, "/feed"), 0)["provider"][0] == "ok"
        fake.description_status = 503
        verdict, text = examined(owner, at(host, "/feed"), 1)["provider"]
        assert (verdict, "it answered 503" in text) == ("fault", True), text
    verdict, text = examined(owner, at(host, "/feed"), 1)["provider"]
    assert (verdict, fake.issuer in text) == ("fault", True), text
    assert ("password_login is off" in text) is (password_login == "false")


def test_without_looks_no_host_is_asked(owner, host):
    owner.must("migrate")
    owner.environment |= {"FEEDKEEP_FETCH": "off", "FEEDKEEP_PORT": "0"}
    found = examined(owner, at(host, "/feed"), 0)
    assert found["feed"] == ("ok", "fetch is off: feedkeep requests no other host.")
    assert found["address"][0] == "note"
    assert host.requests == []


def test_a_service_without_its_database_is_one_that_is_not_ready_and_no_other_program(owner, host):
    with owner:
        owner.environment["FEEDKEEP_PORT"] = str(httpx.URL(owner.base_url).port)
        assert httpx.get(f"{owner.base_url}/readyz").status_code == 200
        database = owner.folder / "feedkeep.db"
        database.rename(owner.folder / "moved")
        while httpx.get(f"{owner.base_url}/readyz").status_code != 503:
            time.sleep(0.05)
        verdict, text = examined(owner, at(host, "/feed"), 1)["address"]
        (owner.folder / "moved").rename(database)
    assert (verdict, text.startswith("feedkeep at")) == ("fault", True), text
    assert "--port" not in text


def test_what_else_listens_at_the_port_is_a_fault(owner, host):
    owner.must("migrate")
    owner.environment |= {"FEEDKEEP_HOST": host.address, "FEEDKEEP_PORT": str(host.port)}
    verdict, text = examined(owner, at(host, "/feed"), 1)["address"]
    assert (verdict, "no feedkeep" in text) == ("fault", True), text


@pytest.mark.parametrize(
    ("public_url", "verdict", "said"),
    [("{origin}/nowhere", "fault", "Check the proxy"), ("{closed}", "note", "from this machine")],
)
def test_an_address_for_clients_that_does_not_lead_here_is_told(
    owner, host, public_url, verdict, said
):
    with owner:
        owner.environment["FEEDKEEP_PORT"] = str(httpx.URL(owner.base_url).port)
        closed = f"http://127.0.0.1:{free_port()}"
        owner.environment["FEEDKEEP_PUBLIC_URL"] = public_url.format(
            origin=at(host, ""), closed=closed
        )
        found = examined(owner, at(host, "/feed"), int(verdict == "fault"))["public_url"]
    assert (found[0], said in found[1]) == (verdict, True), found


@pytest.mark.parametrize(
    ("name", "days", "verdict", "said"),
    [
        ("feeds.example", 90, "ok", "89 more days"),
        ("feeds.example", 3, "note", "expires in 2 days"),
        ("feeds.example", -1, "fault", "expired"),
        ("other.example", 90, "fault", "feeds.example"),
    ],
)
def test_a_certificate_is_tried_as_clients_do(owner, host, name, days, verdict, said):
    owner.must("migrate")
    ends = datetime.now(UTC) + timedelta(days=days)
    issued = trustme.CA().issue_cert(name, not_after=ends, not_before=ends - timedelta(days=365))
    certificate = owner.folder / "certificate.pem"
    certificate.write_bytes(issued.private_key_and_cert_chain_pem.bytes())
    owner.environment |= {
        "FEEDKEEP_TLS_CERT": str(certificate),
        "FEEDKEEP_PUBLIC_URL": "https://feeds.example",
    }
    found = examined(owner, at(host, "/feed"), int(verdict == "fault"))["tls"]
    assert (found[0], said in found[1]) == (verdict, True), found


def test_on_postgres_rights_and_both_clocks_are_looked_at(owner, host, postgres):
    database = new_database(postgres)
    owner.environment["FEEDKEEP_DATABASE"] = database
    assert examined(owner, at(host, "/feed"), 1)["database"][1].endswith("creates them.")
    owner.must("migrate")
    assert examined(owner, at(host, "/feed"), 0)["rights"][0] == "ok"
    parts = urlsplit(database)
    role = "reader_" + parts.path[1:]
    execute(database, f"CREATE ROLE {role} LOGIN")
    execute(database, f"GRANT USAGE ON SCHEMA feedkeep TO {role}")
    execute(database, f"GRANT SELECT ON ALL TABLES IN SCHEMA feedkeep TO {role}")
    execute(database, f"GRANT UPDATE ON feedkeep.schema_version TO {role}")
    netloc = f"{role}@{parts.hostname}:{parts.port}"
    owner.environment["FEEDKEEP_DATABASE"] = urlunsplit(parts._replace(netloc=netloc))
    verdict, text = examined(owner, at(host, "/feed"), 1)["rights"]
    assert (verdict, "entry, " in text) == ("fault", True)
    owner.environment |= {"FEEDKEEP_DATABASE": database, "FEEDKEEP_WORKERS": "3"}
    assert examined(owner, at(host, "/feed"), 0)["connections"][0] == "ok"
    execute(database, f'ALTER DATABASE "{parts.path[1:]}" CONNECTION LIMIT 23')
    verdict, text = examined(owner, at(host, "/feed"), 1)["connections"]
    assert (verdict, "allows 23 connections" in text) == ("fault", True), text
    execute(database, f"DROP OWNED BY {role}")
    execute(database, f"DROP ROLE {role}")
    drop_database(postgres, database)
