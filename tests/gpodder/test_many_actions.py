"""A reply with more episode actions than anybody should hold in memory."""

import asyncio
import hashlib
import json
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_LONG, first_of
from people import assert_empty, ok, play
from postgres_server import drop_database, new_database

from feedkeep.assembly import open_store
from feedkeep.config.settings import Settings
from feedkeep.model import Account, AccountId, AccountRecord, EpisodeAction, Stamp, Token, replace
from feedkeep.rules.credentials import SECRET_BYTES, token_hash, write_token
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.seconds import settled

MANY = 100_000 if IS_LONG else 40_000  # as objects, they would take more than 16 MiB
ALICE = AccountId(7)
TOKEN = write_token(ALICE, bytes(SECRET_BYTES))
BEGUN = 1_700_000_000_000_000
EPISODES = "/api/2/episodes/alice.json"
MIB = 1024 * 1024
PATIENCE_SECONDS = 60


def kept(number):
    """Return one of many actions, of a usual length; two of each episode."""
    feed = parse_feed_url(f"https://feeds.example.org/{number // 2 % 300:06}/podcast.xml")
    episode = f"https://cdn.example.org/{number // 2:06}/episode.mp3?source=feed"
    key = hashlib.sha256(str(number).encode()).digest()[:16]
    played = ("phone" if number % 2 else "desk", "play", BEGUN // 10**6 + number, 0, 60, 3_600)
    revision = Stamp(BEGUN + number)
    action = EpisodeAction(key, feed.guid, feed.text, episode, *played, None, revision)
    return replace(action, received=revision, file=key[6:])


async def records():
    clock = settled(Stamp(BEGUN + MANY))
    account = Account(ALICE, "alice", None, False, Stamp(BEGUN), Stamp(0), clock)
    yield [(ALICE, AccountRecord(account, "alice", 1))]
    yield [(ALICE, Token(1, token_hash(TOKEN), "test", Stamp(BEGUN)))]
    for start in range(0, MANY, 1_000):
        yield [(ALICE, kept(number)) for number in range(start, start + 1_000)]


async def fill(database):
    store = await open_store(Settings(database=database))
    await store.fill(records())
    await store.close()


@contextmanager
def serving(folder, database):
    process = FeedkeepProcess(folder, database)
    asyncio.run(fill(process.database))
    process.tokens.append(TOKEN)
    with process:
        yield process


@pytest.fixture(scope="module", params=first_of("sqlite", "postgres"))
def process(request, tmp_path_factory):
    """A service with an account that has a long history."""
    with ExitStack() as stack:
        database = ""
        if request.param == "postgres":
            server = request.getfixturevalue("postgres")
            database = new_database(server)
            stack.callback(drop_database, server, database)
        yield stack.enter_context(serving(tmp_path_factory.mktemp("many"), database))


@pytest.fixture
def client(process):
    with client_of(process) as client:
        yield client


def client_of(process):
    shown = {"Authorization": f"Bearer {TOKEN}"}
    return httpx.Client(base_url=process.base_url, headers=shown, timeout=PATIENCE_SECONDS)


def memory(process, name):
    """Return a figure of the kernel's about the process's memory, in bytes."""
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def asked(process, client, **query):
    """Return a reply with all actions, and what memory that took at its peak."""
    ok(client.get(EPISODES, params={"since": BEGUN // 10**6 + 10}))  # it may be the first request
    Path(f"/proc/{process.process.pid}/clear_refs").write_text("5")  # the peak begins anew
    before = memory(process, "VmRSS")
    reply = client.get(EPISODES, params={"since": 0, **query})
    return reply, memory(process, "VmHWM") - before


def test_all_of_many_actions_come_whole_and_take_less_than_16_mib(process, client):
    reply, taken = asked(process, client)
    told = ok(reply)
    assert len(reply.content) > 200 * MANY
    assert reply.headers["Content-Type"] == "application/json"
    assert [action["device"] for action in told["actions"]] == ["desk", "phone"] * (MANY // 2)
    assert len({action["episode"] for action in told["actions"]}) == MANY // 2
    assert ok(client.get(EPISODES, params={"since": told["timestamp"]}))["actions"] == []
    assert taken < 16 * MIB, taken
    assert_empty(client.head(EPISODES, params={"since": 0}))


def test_only_the_last_action_of_each_episode_comes_if_no_more_is_wanted(process, client):
    reply, taken = asked(process, client, aggregated="true")
    assert [action["device"] for action in ok(reply)["actions"]] == ["phone"] * (MANY // 2)
    assert taken < 32 * MIB, taken


def test_what_changes_while_all_are_told_comes_with_the_next_request(process, client):
    sent = kept(MANY - 1)
    later = {"device": sent.device, "timestamp": "2030-01-01T00:00:00"}
    changed = play(sent.podcast, sent.episode, 99, **later)
    with client.stream("GET", EPISODES, params={"since": 0}) as reply:
        pieces = reply.iter_bytes()
        received = [next(pieces)]
        with client_of(process) as another:
            ok(another.post(EPISODES, json=[changed]))
        received += pieces
    told = json.loads(b"".join(received))
    assert len(told["actions"]) in {MANY - 1, MANY}
    rest = ok(client.get(EPISODES, params={"since": told["timestamp"]}))["actions"]
    assert [action["position"] for action in rest if action["episode"] == sent.episode] == [99]


def test_a_client_that_leaves_disturbs_no_other(process, client):
    for _ in range(3):
        with client.stream("GET", EPISODES, params={"since": 0}) as reply:
            next(reply.iter_bytes())
    assert client.get("/readyz").status_code == 200
    log = process.log.read_text()
    assert "Traceback" not in log
    assert "reply cut" not in log


def test_a_reply_that_cannot_be_completed_is_cut_and_logged(tmp_path):
    """Half a list that looks whole would be taken for the whole."""
    with serving(tmp_path, "") as process, client_of(process) as client:
        file = tmp_path / "feedkeep.db"
        with client.stream("GET", EPISODES, params={"since": 0}) as reply:
            assert reply.status_code == 200
            pieces = reply.iter_bytes()
            next(pieces)
            file.rename(tmp_path / "elsewhere.db")
            with client_of(process) as another:
                deadline = time.monotonic() + PATIENCE_SECONDS
                while another.get("/readyz").status_code != 503:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
            with pytest.raises(httpx.TransportError):
                for _ in pieces:
                    pass
        (tmp_path / "elsewhere.db").rename(file)
        lines = [json.loads(line) for line in process.log.read_text().splitlines()]
        assert [line["level"] for line in lines if line["event"] == "reply cut"] == ["error"]
