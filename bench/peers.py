"""python -m bench.peers: servers of gpodder.net's protocol in turn, as podcast apps use them."""

from __future__ import annotations

import argparse
import tempfile
import time
from base64 import b64encode
from pathlib import Path
from statistics import median

import httpx

from bench.throughput import WARM_UP_SECONDS
from bench.wrk import check_installed, load

CASES = {
    "poll": "poll, nothing new",
    "poll_basic": "poll with name and password",
    "add_1": "upload of 1 new feed",
    "add_100": "upload of 100 new feeds",
}
_FEEDS_EACH = 100
_FIRST_FEEDS, _FIRST_ACTIONS = 1_000, 10_000
_UPLOADED_AT_ONCE = 1_000
_SYNCS = 14
_CONNECTIONS = 32
_PEERS = Path(__file__).with_name("peers.lua")


def main() -> None:
    """Measure the given servers, and print tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("servers", nargs="+", metavar="NAME=URL", help="where each one listens")
    parser.add_argument(
        "--people", type=int, default=20, help="how many poll; each server has one more, a newcomer"
    )
    parser.add_argument("--password", default="correct horse", help="the password of each of them")
    parser.add_argument(
        "--cases", nargs="*", default=list(CASES), choices=CASES, help="which ones; all"
    )
    parser.add_argument("--rounds", type=int, default=5, help="runs of each case")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a run")
    chosen = parser.parse_args()
    check_installed()
    servers = dict(server.split("=", 1) for server in chosen.servers)
    with tempfile.TemporaryDirectory() as folder:
        samples = {
            name: _begin(url, Path(folder) / name, chosen.people, chosen.password)
            for name, url in servers.items()
        }
        # Not one of the polling accounts, whose polls would return the changes.
        newcomer = f"peer{chosen.people}"
        first = {name: _first_sync(url, newcomer, chosen.password) for name, url in servers.items()}
        print(
            f"| first sync, ms and bytes | {' | '.join(servers)} |\n|---|{'---:|' * len(servers)}"
        )
        for title in next(iter(first.values())):
            told = (
                f"{ms:.1f}, {size:,}" for ms, size in (found[title] for found in first.values())
            )
            print(f"| {title} | {' | '.join(told)} |", flush=True)
        print(f"\n| requests/s | {' | '.join(servers)} |\n|---|{'---:|' * len(servers)}")
        for case in chosen.cases:
            found = measure(case, servers, samples, chosen.rounds, chosen.seconds)
            shown = (f"{median(rates):,.0f}" for rates in found.values())
            print(f"| {CASES[case]} | {' | '.join(shown)} |", flush=True)


def _first_sync(url: str, name: str, password: str) -> dict[str, tuple[float, int]]:
    """Return time and size of a new app's first sync, compressed if the server does that."""
    with httpx.Client(base_url=url, auth=(name, password), timeout=60) as client:
        client.post(f"/api/2/auth/{name}/login.json").raise_for_status()
        feeds = [f"https://feeds.example.net/first/{feed}/rss" for feed in range(_FIRST_FEEDS)]
        lists, actions = f"/api/2/subscriptions/{name}", f"/api/2/episodes/{name}.json"
        uploaded = {"add": feeds, "remove": []}
        client.post(f"{lists}/first.json", json=uploaded).raise_for_status()
        for start in range(0, _FIRST_ACTIONS, _UPLOADED_AT_ONCE):
            some = [_action(feeds, number) for number in range(start, start + _UPLOADED_AT_ONCE)]
            client.post(actions, json=some).raise_for_status()
        return {
            f"{_FIRST_FEEDS:,} feeds": _asked(client, f"{lists}/first.json"),
            f"{_FIRST_ACTIONS:,} episode actions": _asked(client, actions),
        }


def _action(feeds: list[str], number: int) -> dict[str, object]:
    feed = feeds[number % len(feeds)]
    return {
        "podcast": feed,
        "episode": f"{feed}/{number}.mp3",
        "action": "play",
        "timestamp": "2026-11-01T12:00:00",
        "started": 0,
        "position": number % 3_600,
        "total": 3_600,
    }


def _asked(client: httpx.Client, path: str) -> tuple[float, int]:
    """Return the time of the fastest complete response, in milliseconds, and its size."""
    took_ms, size_bytes = [], 0
    for _ in range(_SYNCS):
        began = time.perf_counter()
        reply = client.get(path, params={"since": 0}).raise_for_status()
        took_ms.append((time.perf_counter() - began) * 1e3)
        size_bytes = reply.num_bytes_downloaded
    return min(took_ms), size_bytes


def measure(
    case: str, servers: dict[str, str], samples: dict[str, Path], rounds: int, seconds: float
) -> dict[str, list[float]]:
    """Return the requests per second of each server in each round; the servers take turns."""
    found: dict[str, list[float]] = {name: [] for name in servers}
    for name, url in servers.items():
        load(url, case, samples[name], _CONNECTIONS, WARM_UP_SECONDS, script=_PEERS)
    for _ in range(rounds):
        for name, url in servers.items():
            run = load(url, case, samples[name], _CONNECTIONS, seconds, script=_PEERS)
            found[name].append(run.per_second)
    return found


def _begin(url: str, samples: Path, people: int, password: str) -> Path:
    """Log each person in, upload a list for each, and write the samples for wrk."""
    lines = []
    for number in range(people):
        name = f"peer{number}"
        with httpx.Client(base_url=url, auth=(name, password)) as client:
            client.post(f"/api/2/auth/{name}/login.json").raise_for_status()
            feeds = [f"https://feeds.example.net/{name}/{feed}" for feed in range(_FEEDS_EACH)]
            uploaded = {"add": feeds, "remove": []}
            path = f"/api/2/subscriptions/{name}/phone.json"
            client.post(path, json=uploaded).raise_for_status()
            # The reply's timestamp is in a later second than all changes, so polls return none.
            time.sleep(1.1)
            told = client.get(path, params={"since": 0}).raise_for_status().json()["timestamp"]
            cookie = ";".join(f"{key}={value}" for key, value in client.cookies.items())
        basic = b64encode(f"{name}:{password}".encode()).decode()
        lines.append(f"{name} {cookie} {basic} {told}\n")
    samples.write_text("".join(lines))
    return samples


if __name__ == "__main__":
    main()
