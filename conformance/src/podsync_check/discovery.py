"""Detect a server's protocols, and existing data of the account."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from podsync_check.connection import Connection, Credential, Session
from podsync_check.messages import CannotRun, NoAnswer, Request, Wrong
from podsync_check.protocols.url_lists import GpodderCalls, NextcloudCalls, UrlListCalls
from podsync_check.servers import (
    DEVICES,
    MARK,
    SYNC,
    DraftC,
    Gpodder,
    Nextcloud,
    OpenPodcast,
    Server,
)

_OK = 200
_MAX_DEVICES = 50


@dataclass(frozen=True)
class Found:
    """Capabilities of a server and state of the account.

    Attributes:
        protocols: Class of each protocol, in the order of the checks.
        prefix: Prefix of the Open Podcast API's paths.
        takes_passwords: Whether requests of gpodder.net's API with the password need no session.
        has_data: Existing feeds and actions of the account, in words, except leftovers of earlier
            runs; "" for none.
        devices: Device of each app; the same one for all if each device has its own list.
        notes: Further remarks about the server.
    """

    protocols: Sequence[type[Server]]
    prefix: str
    takes_passwords: bool
    has_data: str
    devices: Sequence[str] = DEVICES
    notes: Sequence[str] = field(default_factory=list)


def discover(connection: Connection, credential: Credential) -> Found:
    """Detect the protocols of a server, without changing anything there.

    Raises:
        CannotRun: The server is unreachable, speaks none of the protocols, or refuses the
            credential.
    """
    protocols, refused = list[type[Server]](), list[str]()
    session = Session(connection, credential)
    user = credential.name
    calls = GpodderCalls(user, DEVICES[0])
    app = Session(connection, credential, calls.log_in().request)
    feeds, actions = set[str](), set[str]()
    if user and _speaks(app, calls.devices().request, refused):
        protocols.append(Gpodder)
        feeds |= _feeds_of_devices(app, user)
        actions |= _episodes(app, calls)
    if user and _speaks(session, NextcloudCalls().changes(0).request, refused):
        protocols.append(Nextcloud)
        feeds |= _feeds(session, NextcloudCalls())
        actions |= _episodes(session, NextcloudCalls())
    if (prefix := _open_podcast_prefix(session, refused)) is not None:
        protocols.append(OpenPodcast)
        body = session.send(Request("GET", f"{prefix}/subscriptions?per_page=1000")).json()
        listed = [entry for entry in body["subscriptions"] if entry.get("is_subscribed")]
        feeds |= {str(entry.get("feed_url")) for entry in listed}
    client = {"Client-ID": "00000000-0000-4000-8000-000000000001"}
    asked = Request("GET", f"{SYNC}?limit=1", headers=client)
    if _speaks(session, asked, refused) and "results" in session.send(asked).json():
        protocols.append(DraftC)
        synced = session.send(replace(asked, target=f"{SYNC}?limit=50")).json()["results"]
        subscribed = [one["data"] for one in synced if not one["data"].get("unsubscribed_at")]
        feeds |= {str(data.get("feed_url")) for data in subscribed}
    if not protocols:
        said = "; ".join(refused)
        raise CannotRun(f"The server supports no protocol with this credential: {said}.")
    takes = Gpodder not in protocols or _speaks(session, calls.devices().request, refused)
    return Found(protocols, prefix or "", takes, _in_words(feeds, actions))


def linked(connection: Connection, credential: Credential, found: Found) -> Found:
    """Create and link the suite's devices; return the updated capabilities.

    Some servers keep a list for each device until they are linked, as gpodder.net did.
    """
    if Gpodder not in found.protocols:
        return found
    one, other, *_ = calls = [GpodderCalls(credential.name, device) for device in DEVICES]
    session = Session(connection, credential, one.log_in().request)
    for each in calls:
        with suppress(Wrong):
            session.ask(each.describe(caption=each.device, type="other"))
    with suppress(NoAnswer):
        session.send(one.link(DEVICES).request)
    feed = "https://podsync-check-link.example/feed"
    try:
        session.ask(one.upload([feed], []))
        is_one_list = feed in session.ask(other.changes(0)).add
        session.ask(one.upload([], [feed]))
    except Wrong:
        return found  # the checks will report it
    note = "Each device has its own list, so all apps of the suite use one device."
    one_device = replace(found, devices=DEVICES[:1] * len(DEVICES), notes=[note])
    return found if is_one_list else one_device


def _in_words(feeds: Iterable[str], actions: Iterable[str]) -> str:
    counts = [
        (sum(MARK not in url for url in urls), what)
        for urls, what in ((feeds, "feed"), (actions, "played episode"))
    ]
    return " and ".join(f"{n} {what}{'s' if n > 1 else ''}" for n, what in counts if n)


def _speaks(session: Session, request: Request, refused: list[str]) -> bool:
    try:
        reply = session.send(request)
        is_json = reply.status == _OK and isinstance(reply.json(), dict | list)
    except NoAnswer as silence:
        raise CannotRun(f"No server responds: {silence}") from None
    except Wrong:
        is_json = False
    if not is_json:
        refused.append(f"{request} answers {reply.status}")
    return is_json


def _open_podcast_prefix(session: Session, refused: list[str]) -> str | None:
    for prefix in ("/v1", ""):
        request = Request("GET", f"{prefix}/subscriptions?per_page=1")
        if _speaks(session, request, refused):
            body = session.send(request).json()
            if isinstance(body, dict) and "subscriptions" in body:
                return prefix
    return None


def _feeds_of_devices(session: Session, user: str) -> set[str]:
    """Return the feeds of all devices, including other apps'."""
    found = set[str]()
    with suppress(Wrong):
        devices = session.ask(GpodderCalls(user, DEVICES[0]).devices())
        for device in devices[:_MAX_DEVICES]:
            if device.get("subscriptions"):
                found |= _feeds(session, GpodderCalls(user, str(device.get("id"))))
    return found


def _feeds(session: Session, calls: UrlListCalls) -> set[str]:
    with suppress(Wrong):
        return set(session.ask(calls.changes(0)).add)
    return set()


def _episodes(session: Session, calls: UrlListCalls) -> set[str]:
    with suppress(Wrong):
        return {str(one.get("episode")) for one in session.ask(calls.actions(0)).actions}
    return set()
