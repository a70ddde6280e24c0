"""`feedkeep doctor` says of each thing whether it is right, and by its exit status of all."""

import socket
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest
import trustme
from fake_provider import FakeProvider, settings_for
from feedkeep_process import FeedkeepProcess
from postgres_server import drop_database, execute, free_port, new_database
from web_of_hosts import WebOfHosts, reply

from feedkeep.cli import diagnosis
from feedkeep.cli.diagnosis import Entrance, Verdict
from feedkeep.cli.doctor import one_feed
from feedkeep.config.settings import Settings
from feedkeep.model import Clock, Stamp
from feedkeep.outbound.targets import SystemNames
from feedkeep.rules.clock import DAY_US, SECOND_US, shift
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
def owner(tmp_path):
    """An operator's commands; feedkeep fetches no feed, and listens at no port."""
    return FeedkeepProcess(tmp_path, port=str(free_port()))


@pytest.fixture
def migrated(owner):
    owner.must("migrate")
    return owner


@pytest.fixture
def serving(owner):
    """The same while a service runs, which is found by its settings."""
    with owner:
        owner.environment["FEEDKEEP_PORT"] = str(httpx.URL(owner.base_url).port)
        owner.environment["FEEDKEEP_PUBLIC_URL"] = owner.base_url
        yield owner


def fetching(owner, host):
    """Enable fetching from a host; return the URL of a feed on it."""
    owner.environment |= {
        "FEEDKEEP_FETCH": "public",
        "FEEDKEEP_FETCH_ALLOWED": "127.0.0.0/8",
        "FEEDKEEP_FETCH_PORTS": str(host.port),
    }
    return f"http://{host.address}:{host.port}/feed"


def examined(owner, feed="", *, faults=0):
    """Return by subject what was found, and how bad that is."""
    done = owner.run("doctor", *(["--feed", feed] if feed else []))
    assert (done.returncode, done.stderr) == (int(faults > 0), ""), done.stdout
    *lines, last = done.stdout.splitlines()
    found: dict[str, tuple[str, str]] = {}
    for line in lines:
        verdict, subject, text = line[:5].strip(), *line[6:].split(": ", 1)
        had, texts = found.get(subject, (verdict, ""))
        found[subject] = had, f"{texts}{text}\n"
    assert sum(line.startswith("fault ") for line in lines) == faults, done.stdout
    assert last.startswith(f"{faults} fault" if faults else "No fault found.")
    return found


def fault(owner, subject, feed="", *, faults=1):
    """Return the text about a subject, which must be one of `faults` faults."""
    verdict, text = examined(owner, feed, faults=faults)[subject]
    assert verdict == "fault"
    return text


def test_where_all_is_well_each_thing_is_told_and_nothing_changes(serving, host):
    feed = fetching(serving, host)
    serving.must("backup", str(serving.folder / "copy.db"))
    found = examined(serving, feed)
    assert {subject for subject, (verdict, _) in found.items() if verdict == "ok"} >= {
        "settings", "database", "disk", "backup", "proxies", "address", "public_url", "names",
        "feed",
    }  # fmt: skip
    assert found["clock"][0] in {"ok", "note"}
    assert found["feed"][1].endswith("A feed\n")
    assert "answers at" in found["address"][1]
    serving.must("check")


def test_before_the_first_start_there_is_no_database_and_none_is_made(owner):
    found = examined(owner, faults=1)
    assert found["database"][0] == "fault"
    assert found["clock"][0] in {"ok", "note"}
    assert found["address"][0] == "note"
    assert found["feed"] == ("ok", "fetch is off: feedkeep requests no other host.\n")
    assert list(owner.folder.glob("feedkeep.db*")) == []


@pytest.mark.parametrize(
    ("variables", "faults"),
    [
        ({"PORT": "x"}, {"settings": ["has to be a whole number"]}),
        ({"OIDC_ADMIN_CLAIM": "admins"}, {"settings": ["has to be claim=value"]}),
        ({"PUBLIC_URL": "https://feeds.example"}, {"proxies": ["Set trusted_proxies"]}),
        (
            {
                "PROT": "1",
                "DB": "sqlite:///other.db",
                "TRUSTED_PROXIES": "0.0.0.0/0",
                "TLS_CERT": "/nowhere/cert.pem",
                "HOST": "192.0.2.1",
            },
            {
                "settings": ["FEEDKEEP_PORT is one", "FEEDKEEP_DATABASE is one"],
                "proxies": ["any address"],
                "tls": ["Cannot use /nowhere/cert.pem"],
                "address": ["Cannot listen on 192.0.2.1"],
            },
        ),
    ],
)
def test_a_setting_that_does_not_work_is_a_fault_that_says_what_to_do(migrated, variables, faults):
    migrated.environment |= {f"FEEDKEEP_{name}": value for name, value in variables.items()}
    found = examined(migrated, faults=sum(map(len, faults.values())))
    for subject, texts in faults.items():
        verdict, text = found[subject]
        assert verdict == "fault"
        assert [said for said in texts if said not in text] == []


@pytest.mark.parametrize(
    ("feed", "said"),
    [
        ("http://{host}/nothing", "cannot be read"),
        ("http://a|b.example/feed", "not valid"),
        ("http://a..example/feed", "Invalid host"),
        ("feeds.example", "http"),
    ],
)
def test_a_feed_that_cannot_be_read_is_a_fault(migrated, host, feed, said):
    fetching(migrated, host)
    url = feed.format(host=f"{host.address}:{host.port}")
    assert said in fault(migrated, "feed", url)


async def test_a_name_that_the_resolver_does_not_know_is_a_fault(monkeypatch):
    async def look_up(_, host):
        raise socket.gaierror(socket.EAI_NONAME, f"no {host}")

    monkeypatch.setattr(SystemNames, "look_up", look_up)
    [finding] = [one async for one in one_feed(Settings(), "https://münchen.example/feed")]
    assert finding.verdict is Verdict.FAULT
    assert "no xn--mnchen-3ya.example" in finding.text


@pytest.mark.parametrize("name", ["feedkeep.db", "feedkeep.db-wal"])
def test_a_database_file_that_all_users_may_read_is_a_fault(serving, name):
    assert examined(serving)["rights"][0] == "ok"
    (serving.folder / name).chmod(0o644)
    assert f"chmod o= {serving.folder / name}" in fault(serving, "rights")


def test_stamps_far_ahead_of_the_clock_are_a_fault(migrated):
    async def set_clock_ahead(service):
        account = await service.accounts.create("alice", None)
        ahead = shift(wall_clock.now(), 60 * DAY_US)
        await service.store.accounts.advance(account.id, Clock.ACTIONS, lambda _: ahead)

    migrated.use(set_clock_ahead)
    assert "If the clock is behind, set it" in fault(migrated, "clock")


def test_a_provider_that_does_not_answer_is_a_fault(migrated):
    with FakeProvider() as fake:
        migrated.environment |= {
            f"FEEDKEEP_{name.upper()}": value for name, value in settings_for(fake).items()
        }
        assert examined(migrated)["provider"][0] == "ok"
        fake.description_status = 503
        assert "it answered 503" in fault(migrated, "provider")
    for password_login in ("true", "false"):
        migrated.environment["FEEDKEEP_PASSWORD_LOGIN"] = password_login
        text = fault(migrated, "provider")
        assert fake.issuer in text
        assert ("password_login is off" in text) is (password_login == "false")


def test_a_service_without_its_database_is_one_that_is_not_ready(serving):
    assert httpx.get(f"{serving.base_url}/readyz").status_code == 200
    database = serving.folder / "feedkeep.db"
    database.rename(serving.folder / "moved")
    while httpx.get(f"{serving.base_url}/readyz").status_code != 503:
        time.sleep(0.05)
    text = fault(serving, "address", faults=2)
    (serving.folder / "moved").rename(database)
    assert text.startswith("feedkeep at")
    assert "--port" not in text


def test_another_program_at_the_port_is_a_fault_and_no_port_or_fetch_is_none(migrated, host):
    feed = fetching(migrated, host)
    migrated.environment |= {"FEEDKEEP_FETCH": "off", "FEEDKEEP_PORT": "0"}
    assert examined(migrated, feed)["address"][0] == "note"
    assert host.requests == []
    migrated.environment |= {"FEEDKEEP_HOST": host.address, "FEEDKEEP_PORT": str(host.port)}
    assert "no feedkeep" in fault(migrated, "address")


def test_a_public_url_that_does_not_lead_here_is_told(serving, host):
    serving.environment["FEEDKEEP_PUBLIC_URL"] = f"http://{host.address}:{host.port}/nowhere"
    assert "Check the proxy" in fault(serving, "public_url")
    serving.environment["FEEDKEEP_PUBLIC_URL"] = f"http://127.0.0.1:{free_port()}"
    verdict, text = examined(serving)["public_url"]
    assert (verdict, "from this machine" in text) == ("note", True), text


@pytest.mark.parametrize(
    ("name", "days", "expected", "said"),
    [
        ("feeds.example", 90, "ok", "89 more days"),
        ("feeds.example", 3, "note", "expires in 2 days"),
        ("feeds.example", -1, "fault", "expired"),
        ("other.example", 90, "fault", "feeds.example"),
    ],
)
def test_a_certificate_is_tried_as_clients_do(migrated, name, days, expected, said):
    ends = datetime.now(UTC) + timedelta(days=days)
    issued = trustme.CA().issue_cert(name, not_after=ends, not_before=ends - timedelta(days=365))
    certificate = migrated.folder / "certificate.pem"
    certificate.write_bytes(issued.private_key_and_cert_chain_pem.bytes())
    migrated.environment |= {
        "FEEDKEEP_TLS_CERT": str(certificate),
        "FEEDKEEP_PUBLIC_URL": "https://feeds.example",
    }
    verdict, text = examined(migrated, faults=int(expected == "fault"))["tls"]
    assert (verdict, said in text) == (expected, True), text


def test_on_postgres_rights_connections_and_both_clocks_are_examined(owner, postgres):
    database = new_database(postgres)
    owner.environment["FEEDKEEP_DATABASE"] = database
    assert fault(owner, "database").endswith("creates them.\n")
    owner.must("migrate")
    assert examined(owner)["rights"][0] == "ok"
    parts = urlsplit(database)
    role = "reader_" + parts.path[1:]
    execute(database, f"CREATE ROLE {role} LOGIN")
    execute(database, f"GRANT USAGE ON SCHEMA feedkeep TO {role}")
    execute(database, f"GRANT SELECT ON ALL TABLES IN SCHEMA feedkeep TO {role}")
    execute(database, f"GRANT UPDATE ON feedkeep.schema_version TO {role}")
    netloc = f"{role}@{parts.hostname}:{parts.port}"
    owner.environment["FEEDKEEP_DATABASE"] = urlunsplit(parts._replace(netloc=netloc))
    assert "entry, " in fault(owner, "rights")
    owner.environment |= {"FEEDKEEP_DATABASE": database, "FEEDKEEP_WORKERS": "3"}
    assert examined(owner)["connections"][0] == "ok"
    execute(database, f'ALTER DATABASE "{parts.path[1:]}" CONNECTION LIMIT 23')
    assert "allows 23 connections" in fault(owner, "connections")
    execute(database, f"DROP OWNED BY {role}")
    execute(database, f"DROP ROLE {role}")
    drop_database(postgres, database)


NOW = Stamp(1_795_000_000 * SECOND_US)
YEAR_US = 365 * DAY_US
OK, NOTE, FAULT = Verdict


def test_a_full_disk_is_a_fault_and_an_old_backup_or_a_certificate_near_its_end_a_note():
    for free_bytes, verdict in ((0, FAULT), (499_999_999, FAULT), (500_000_000, OK)):
        assert diagnosis.disk(free_bytes).verdict is verdict
    assert diagnosis.backup(None, NOW).verdict is NOTE
    for age_us, verdict in ((0, OK), (2 * DAY_US - 1, OK), (2 * DAY_US, NOTE), (-DAY_US, OK)):
        assert diagnosis.backup(Stamp(NOW - age_us), NOW).verdict is verdict
    for days, verdict in ((13, NOTE), (14, OK), (90, OK)):
        assert diagnosis.certificate(Stamp(NOW + days * DAY_US), NOW).verdict is verdict


def test_missing_rights_and_connections_beyond_the_limit_are_faults():
    assert diagnosis.rights([]).verdict is OK
    found = diagnosis.rights(["token", "entry"])
    assert (found.verdict, "entry, token" in found.text) == (FAULT, True)
    assert diagnosis.connections(workers=4, of_each=25, limit=100).verdict is OK
    found = diagnosis.connections(workers=4, of_each=25, limit=99)
    assert found.verdict is FAULT
    assert "99" in found.text
    assert "100" in found.text


@pytest.mark.parametrize(
    ("now", "of_database", "newest", "is_set", "verdict"),
    [
        (NOW, None, 0, True, OK),
        (NOW, None, NOW, None, OK),
        (NOW, None, 0, False, NOTE),
        (NOW, NOW + 5 * SECOND_US, 0, True, OK),
        (NOW, NOW + 5 * SECOND_US + 1, 0, True, FAULT),
        (NOW, NOW - 6 * SECOND_US, 0, False, FAULT),
        (0, 0, 0, True, FAULT),
        (NOW - 10 * YEAR_US, None, 0, True, FAULT),
        (NOW + 10 * YEAR_US, None, NOW + 10 * YEAR_US, True, FAULT),
        (NOW + 10 * YEAR_US, NOW + 10 * YEAR_US, NOW, True, FAULT),
        (NOW, None, NOW + 30 * DAY_US, True, OK),
        (NOW, None, NOW + 30 * DAY_US + 1, True, FAULT),
    ],
)
def test_clock_that_contradicts_database_or_release_is_a_fault(
    now, of_database, newest, is_set, verdict
):
    there = None if of_database is None else Stamp(of_database)
    assert diagnosis.clock(Stamp(now), there, Stamp(newest), is_set).verdict is verdict


@pytest.mark.parametrize(
    ("scheme", "is_local", "has_certificate", "proxies", "found"),
    [
        ("", True, False, (), []),
        ("https", True, False, ("127.0.0.1",), []),
        ("https", False, True, (), []),
        ("https", True, False, (), [("proxies", FAULT)]),
        ("", True, False, ("127.0.0.1",), [("proxies", NOTE)]),
        ("", False, False, (), [("tls", NOTE)]),
        ("http", False, False, (), [("tls", NOTE)]),
        ("http", True, False, (), []),
        ("https", False, False, ("0.0.0.0/0", "::/0"), [("proxies", FAULT)]),
        ("https", False, False, ("0.0.0.0/1", "128.0.0.0/1"), [("proxies", FAULT)]),
        ("https", False, False, ("::1", "::/1", "8000::/1"), [("proxies", FAULT)]),
        ("https", False, False, ("::ffff:0.0.0.0/96",), [("proxies", FAULT)]),
        ("https", False, False, ("10.0.0.0/8", "172.16.0.0/12", "fc00::/7", "fe80::/10"), []),
        ("https", False, False, ("64.0.0.0/2", "64.0.0.0/3", "96.0.0.0/3"), []),
    ],
)
def test_proxies_and_tls_have_to_fit_the_address_of_clients(
    scheme, is_local, has_certificate, proxies, found
):
    told = diagnosis.entrance(
        Entrance(scheme=scheme, is_local=is_local, has_certificate=has_certificate, proxies=proxies)
    )
    assert [(one.subject, one.verdict) for one in told] == found
