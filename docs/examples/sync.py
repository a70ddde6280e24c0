"""Keeps a list of feeds in a file in step with a feedkeep service. Python alone is enough.

FEEDKEEP_URL=https://feeds.example FEEDKEEP_TOKEN=fk_... python sync.py list.json
... sync.py list.json add https://podnews.net/rss    (kept, and sent with the next sync)
... sync.py list.json subscribe|unsubscribe|delete WHICH
... sync.py list.json move WHICH https://podnews.net/new

WHICH is a guid or a URL, also of a feed that was added and not sent yet.
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
UNKNOWN, DELETED = 404, 410
NOT_LET_IN, ONLY_READS = 401, 403
PASSES = {429, 431, 500, 502, 503, 504}  # 431: by a proxy, perhaps for now
USAGE = (
    "Give a FILE, and after it nothing, add URL, move WHICH URL,"
    " or one of subscribe, unsubscribe and delete with a WHICH."
)
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


def send(base: str, device: dict[str, Any]) -> None:
    """Send the oldest change. A reply that was lost is no harm: it is then sent again.

    An app that sends `If-Match` removes a change that gets 412 from the queue, with the later ones
    of that feed, applies what GET shows, and asks its owner which of them still apply.
    """
    change, feeds = device["unsent"][0], device["feeds"]
    if change["do"] == "add":
        guid = add(base, device, change["feed_url"], change.get("guid"))
        for later in device["unsent"][1:]:  # it was queued by its URL, which had no guid yet
            if guid and later.get("guid") == change["feed_url"]:
                later["guid"] = guid
        return
    guid = change["guid"]
    entry = f"{base}/subscriptions/{quote(guid, safe='')}"
    try:
        if change["do"] == "delete":
            ask("DELETE", entry)
        else:
            ask("PATCH", entry, change["body"])
    except Refused as refused:
        if refused.status != UNKNOWN:
            raise
        if change["do"] != "delete" and guid in feeds and not is_deleted(entry):
            # A restore of the service's database has lost the feed: add it as this device has it.
            was = feeds[guid]
            add(base, device, was["feed_url"], guid)
            ask("PATCH", entry, {"is_subscribed": was["is_subscribed"]} | change["body"])
        else:
            feeds.pop(guid, None)


def add(base: str, device: dict[str, Any], url: str, guid: str | None) -> str | None:
    """Add a feed, and return its guid, unless it was refused."""
    item = {"feed_url": url} | ({"guid": guid} if guid else {})
    added, _ = ask("POST", f"{base}/subscriptions", {"subscriptions": [item]})
    for failure in added["failure"]:
        print(f"{failure['feed_url']}: {failure['message']}", file=sys.stderr)
    for success in added["success"]:  # in the list at once: a restore before the next GET loses it
        there = success.get("new_feed_url")
        if there:
            print(f"{url} is on the list as {there}", file=sys.stderr)
        apply(device["feeds"], success | {"feed_url": there or url})
        return str(success["guid"])
    return None


def is_deleted(entry: str) -> bool:
    """Ask whether a feed was deleted, or is not known at all: PATCH gets 404 in both cases."""
    try:
        ask("GET", entry)
    except Refused as refused:
        if refused.status not in {UNKNOWN, DELETED}:
            raise
        return refused.status == DELETED
    return False


def apply(feeds: dict[str, Any], entry: dict[str, Any]) -> None:
    """Take over an entry of the list; an app moves its episodes to `new_guid` here."""
    if entry.get("deleted") or entry.get("new_guid"):
        feeds.pop(entry["guid"], None)
    else:
        feeds[entry["guid"]] = {
            "feed_url": entry["feed_url"],
            "is_subscribed": entry["is_subscribed"],
            "changed": stamp(entry),
        }


def stamp(entry: dict[str, Any]) -> str:
    """Return when an entry changed last; stamps of one form can be compared as text."""
    names = ("subscription_changed", "guid_changed", "deleted")
    return max(str(entry[name]) for name in names if entry.get(name))


def sync(base: str, file: Path) -> None:
    """Send what is unsent, then fetch what changed; `since` is stored when all is applied."""
    device = load(file)
    while device["unsent"]:
        try:
            send(base, device)
        except Refused as refused:
            if refused.status in {NOT_LET_IN, ONLY_READS}:
                raise
            print(f"Not done: {refused}", file=sys.stderr)  # and never will be: go on
        del device["unsent"][0]
        save(file, device)
    entries, epoch = changes(base, device["since"])
    if epoch not in {None, device["epoch"]}:  # the first list, or an older state was restored
        if device["since"]:
            entries, epoch = changes(base, None)
        device["unsent"] = what_was_lost(device["feeds"], entries)
        device["since"], device["feeds"] = None, {}
    for entry in entries:
        apply(device["feeds"], entry)
        device["since"] = max(device["since"] or "", stamp(entry))
    device["epoch"] = epoch or device["epoch"]  # what is between may drop the header
    save(file, device)
    if device["unsent"]:
        sync(base, file)


def changes(base: str, since: str | None) -> tuple[list[dict[str, Any]], str | None]:
    """Return the entries that changed after a stamp, or all, and the epoch of the pages.

    The last page may be empty: then `since` stays that of the page before.
    """
    url = f"{base}/subscriptions?per_page=1000"
    if since:
        url += f"&since={quote(since, safe='')}"
    entries: list[dict[str, Any]] = []
    epoch = None
    while url:
        page, told = ask("GET", url)
        if epoch and told and told != epoch:  # restored meanwhile: the pages before are of the past
            return changes(base, None)
        entries += page["subscriptions"]
        epoch, url = told or epoch, page.get("next")
    return entries, epoch


def what_was_lost(feeds: dict[str, Any], entries: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return what to add: the feeds of this device that the whole list has in no form.

    Nor does it have them if it shows them as deleted, from before they were added again.
    """
    known: dict[str, str] = {}
    for entry in entries:
        since = entry.get("deleted", "later than any")
        for name in (entry["guid"], entry["feed_url"]):
            known[name] = max(known.get(name, ""), since)
    return [
        {"do": "add", "feed_url": feed["feed_url"], "guid": guid}
        for guid, feed in feeds.items()
        if feed["is_subscribed"]
        and max(known.get(guid, ""), known.get(feed["feed_url"], "")) < feed["changed"]
    ]


def queue(device: dict[str, Any], what: str, which: str, *values: str) -> None:
    """Keep a change for later."""
    if what == "add":
        device["unsent"].append({"do": what, "feed_url": which})
        return
    guids = [guid for guid, feed in device["feeds"].items() if feed["feed_url"] == which]
    body = {"new_feed_url": values[0]} if values else {"is_subscribed": what == "subscribe"}
    device["unsent"].append({"do": what, "guid": (guids or [which])[0], "body": body})


def main() -> None:
    """Keep a change for later, or sync."""
    match sys.argv[1:]:
        case (
            [name]
            | [name, "add" | "subscribe" | "unsubscribe" | "delete", _]
            | [name, "move", _, _]
        ):
            file, rest = Path(name), sys.argv[2:]
        case _:
            sys.exit(USAGE)
    if rest:
        device = load(file)
        queue(device, *rest)
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
