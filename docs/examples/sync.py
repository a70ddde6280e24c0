"""Keeps a list of feeds in a file in step with a feedkeep service. Python alone is enough.

FEEDKEEP_URL=https://feeds.example FEEDKEEP_TOKEN=fk_... python sync.py list.json
... sync.py list.json add https://podnews.net/rss    (kept, and sent with the next sync)
... sync.py list.json unsubscribe GUID
... sync.py list.json delete GUID
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from email.utils import mktime_tz, parsedate_tz
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote

TRIES = 6
LONGEST_WAIT_SECONDS = 60
GONE = {404, 410}
NOT_LET_IN, ONLY_READS = 401, 403
PASSES = {429, 500, 502, 503, 504}
KEPT = "What you changed is kept, and sent next time."


class Refused(Exception):
    """The service refuses a request, and would refuse it again; `status` says how."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


def ask(method: str, url: str, body: object = None) -> tuple[Any, str | None]:
    """Send a request until there is a reply, and return it with the list's epoch if it has one.

    All requests can be sent again.
    """
    headers = {
        "Authorization": f"Bearer {os.environ['FEEDKEEP_TOKEN']}",
        "User-Agent": "feedkeep-example/1.0",  # its owner sees it
    }
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)
    for attempt in range(TRIES):
        wait = min(2.0**attempt, LONGEST_WAIT_SECONDS)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return json.load(reply), reply.headers.get("Feedkeep-Epoch")
        except urllib.error.HTTPError as error:
            if error.code not in PASSES:
                raise Refused(error.code, error.read().decode(errors="replace")) from error
            wait = pause(error.headers.get("Retry-After", ""), wait)
        except (OSError, ValueError, HTTPException):
            pass  # no network, or a reply that broke off
        if wait > LONGEST_WAIT_SECONDS:
            sys.exit(f"The service asks for a pause of {wait:.0f} seconds. {KEPT}")
        if attempt < TRIES - 1:
            time.sleep(wait)
    sys.exit(f"The service cannot be reached. {KEPT}")


def pause(told: str, otherwise: float) -> float:
    """Return for how many seconds `Retry-After` asks: it is a number of them, or a date."""
    if told.isdecimal():
        return float(told)
    date = parsedate_tz(told)
    return max(mktime_tz(date) - time.time(), 0) if date else otherwise


def load(file: Path) -> dict[str, Any]:
    """Return what this device knows: the list by guid, what is unsent, `since` and the epoch."""
    if file.exists():
        known: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return known
    return {"since": None, "epoch": None, "feeds": {}, "unsent": []}


def save(file: Path, device: dict[str, Any]) -> None:
    """Write all of it in one step: a crash leaves the old file or the new one."""
    new = file.with_suffix(".new")
    with new.open("w", encoding="utf-8") as opened:
        json.dump(device, opened, indent=1)
        opened.flush()
        os.fsync(opened.fileno())
    new.replace(file)


def send(base: str, change: dict[str, str], feeds: dict[str, Any]) -> None:
    """Send what the owner did. A reply that was lost is no harm: this is then sent again."""
    if change["do"] == "add":
        item = {name: change[name] for name in ("feed_url", "guid") if name in change}
        added, _ = ask("POST", f"{base}/subscriptions", {"subscriptions": [item]})
        for failure in added["failure"]:
            print(f"{failure['feed_url']}: {failure['message']}", file=sys.stderr)
        return
    entry = f"{base}/subscriptions/{quote(change['guid'], safe='')}"
    try:
        if change["do"] == "unsubscribe":
            ask("PATCH", entry, {"is_subscribed": False})
        else:
            ask("DELETE", entry)
    except Refused as refused:
        if refused.status not in GONE:  # gone already is as good as done
            raise
        feeds.pop(change["guid"], None)


def apply(feeds: dict[str, Any], entry: dict[str, Any]) -> None:
    """Take over an entry of the list; an app moves its episodes to `new_guid` here."""
    if entry.get("deleted") or entry.get("new_guid"):
        feeds.pop(entry["guid"], None)
    else:
        feeds[entry["guid"]] = {
            "feed_url": entry["feed_url"],
            "is_subscribed": entry["is_subscribed"],
        }


def stamp(entry: dict[str, Any]) -> str:
    """Return when an entry changed last; stamps of one form can be compared as text."""
    names = ("subscription_changed", "guid_changed", "deleted")
    return max(entry[name] for name in names if entry.get(name))


def sync(base: str, file: Path) -> None:
    """Send what is unsent, then fetch what changed; `since` is stored when all is applied."""
    device = load(file)
    while device["unsent"]:
        try:
            send(base, device["unsent"][0], device["feeds"])
        except Refused as refused:
            if refused.status in {NOT_LET_IN, ONLY_READS}:
                raise
            print(f"Not done: {refused}", file=sys.stderr)  # and never will be: go on
        del device["unsent"][0]
        save(file, device)
    entries, epoch = changes(base, device["since"])
    is_another = epoch is not None and device.get("epoch") not in {None, epoch}
    if is_another:  # an older state of the service's database was restored
        entries, epoch = changes(base, None)
        device["unsent"] = what_is_nowhere(device["feeds"], entries)
        device["since"], device["feeds"] = None, {}
    for entry in entries:
        apply(device["feeds"], entry)
        device["since"] = max(device["since"] or "", stamp(entry))
    device["epoch"] = epoch or device.get("epoch")  # what is between may drop the header
    save(file, device)
    if is_another:
        sync(base, file)


def changes(base: str, since: str | None) -> tuple[list[dict[str, Any]], str | None]:
    """Return the entries that changed after a stamp, or all, and the epoch of the last page."""
    url = f"{base}/subscriptions?per_page=1000"
    if since:
        url += f"&since={quote(since, safe='')}"
    entries: list[dict[str, Any]] = []
    epoch = None
    while url:
        page, epoch = ask("GET", url)
        entries += page["subscriptions"]
        url = page.get("next")
    return entries, epoch


def what_is_nowhere(feeds: dict[str, Any], entries: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return what to add: the feeds of this device that are in the whole list in no form."""
    listed = {entry[name] for entry in entries for name in ("guid", "feed_url")}
    return [
        {"do": "add", "feed_url": feed["feed_url"], "guid": guid}
        for guid, feed in feeds.items()
        if feed["is_subscribed"] and guid not in listed and feed["feed_url"] not in listed
    ]


def main() -> None:
    """Keep a change for later, or sync."""
    match sys.argv[1:]:
        case [name] | [name, "add" | "unsubscribe" | "delete", _]:
            file, rest = Path(name), sys.argv[2:]
        case _:
            sys.exit("Give a FILE, and after it nothing, add URL, unsubscribe GUID or delete GUID.")
    if rest:
        name = "feed_url" if rest[0] == "add" else "guid"
        device = load(file)
        device["unsent"].append({"do": rest[0], name: rest[1]})
        save(file, device)
        return
    try:
        sync(os.environ["FEEDKEEP_URL"].rstrip("/"), file)
    except Refused as refused:
        if refused.status == NOT_LET_IN:
            sys.exit("The token is not valid any more. Make a new one; your list is kept.")
        sys.exit(f"The service refuses this: {refused}")


if __name__ == "__main__":
    main()
