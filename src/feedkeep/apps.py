"""What podcast apps ask for: a list of URLs, whole seconds, devices, episode actions.

One method per use case, for the protocols that apps speak already. They see the same subscriptions
as everybody else, under the same rules (docs/gpodder.md).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from feedkeep.action_pages import LISTED_AT_ONCE, ActionPages, ToldActions
from feedkeep.errors import InvalidInput, UnknownSubscription
from feedkeep.model import (
    AccountId,
    ActionRequest,
    Admitted,
    Clock,
    EpisodeAction,
    Guid,
    Second,
    Stamp,
    Told,
    Value,
)
from feedkeep.rules import devices, episode_actions, seconds, spellings, url_lists
from feedkeep.rules.clock import later
from feedkeep.rules.devices import Device
from feedkeep.rules.episode_actions import RefusedUrl, SentAction
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.room import Most
from feedkeep.rules.spellings import UNKNOWN, Spellings
from feedkeep.rules.subscriptions import Added, Refused, Wanted, guids_wanted, want
from feedkeep.rules.url_lists import Synced, UrlChanges
from feedkeep.store.base import Store
from feedkeep.turns import LONG_LIST, Turn, beside

MAX_SETTINGS_BYTES = 65_536

_STAMPED_AT_ONCE = 1_000

_DEVICE = msgspec.json.Decoder(Device)
_SETTINGS = msgspec.json.Decoder(dict[str, object])


class Uploaded(Value, frozen=True):
    """What became of an upload.

    Attributes:
        timestamp: What the app may ask for changes since: no more than what it was told.
        update_urls: Each URL that is not kept as it was sent, with how it is kept; "" for not.
    """

    timestamp: Second
    update_urls: Sequence[tuple[str, str]]


class Migrated(Value, frozen=True):
    """What came from another server so far.

    Attributes:
        until: The second there up to which episode actions came.
        feeds: The URLs that were subscribed to there; what became of them here since is left alone.
    """

    until: Second = seconds.FROM_NOTHING
    feeds: Sequence[str] = ()


_MIGRATED = msgspec.json.Decoder(Migrated)
_SPELLINGS = msgspec.json.Decoder(Spellings)


class Apps:
    """What feedkeep does for podcast apps."""

    def __init__(self, store: Store, most: Most) -> None:
        self._store = store
        self._most = most

    # The list

    async def changes(
        self, app: Admitted, since: Second, device: str = ""
    ) -> tuple[UrlChanges, Second]:
        """Return what to add and to remove since a second, and the second to ask for next.

        Where nothing changed, that costs no more than finding out who asks.
        """
        clock = await self._settle(app, Clock.SUBSCRIPTIONS, app.account.last_stamp)
        told = _told(app, Clock.SUBSCRIPTIONS)
        second = seconds.second_of(clock)
        first = seconds.first_second(since, second, told)
        changes = url_lists.NO_CHANGES
        if first < second:
            changes = await self._changes(app, since, first, device)
        await self._note(app, Clock.SUBSCRIPTIONS, seconds.after_reply(since, second, told))
        return changes, second

    async def _changes(
        self, app: Admitted, since: Second, first: Second, device: str
    ) -> UrlChanges:
        told, stamp = _told(app, Clock.SUBSCRIPTIONS), seconds.first_stamp(first)
        entries = await self._store.changed(app.account.id, stamp)
        known = await self._spellings(app, device) if url_lists.has_moved(entries) else UNKNOWN
        is_from_nothing = since == seconds.FROM_NOTHING and told.heard is None

        def judge() -> UrlChanges:
            news = entries
            if first > seconds.EVERYTHING:
                news = url_lists.without_own(entries, told, device, since)
            return url_lists.url_changes(news, stamp, known, is_from_nothing=is_from_nothing)

        changes = await beside(len(entries) > LONG_LIST, judge)
        await self._learn(app, device, known, changes.app)
        return changes

    async def upload(
        self, app: Admitted, added: Sequence[str], removed: Sequence[str], device: str = ""
    ) -> Uploaded:
        """Subscribe to URLs, and unsubscribe from others, in one step; a bad one is left out."""
        is_long = len(added) + len(removed) > LONG_LIST
        items = await beside(is_long, lambda: [want(url, None) for url in added])
        left, refused = await beside(is_long, url_lists.parsed, removed)
        guids = dict.fromkeys([*guids_wanted(items), *(url.guid for url in left)])
        told = _told(app, Clock.SUBSCRIPTIONS)
        known = await self._spellings(app, device)
        synced = await self._store.change(
            app.account.id,
            list(guids),
            lambda snapshot: url_lists.upload(snapshot, items, left, known, told, self._most),
        )
        timestamp = await self._note_list(app, device, known, synced)
        update_urls = [
            *(_kept(item, result) for item, result in zip(items, synced.results, strict=True)),
            *((url, "") for url in refused),
        ]
        return Uploaded(timestamp, [pair for pair in update_urls if pair[0] != pair[1]])

    async def replace(self, app: Admitted, urls: Sequence[str], device: str = "") -> int:
        """Subscribe to exactly these URLs; what is subscribed already is left as it is.

        Returns how many of them are no feed URLs. Unless there are none, no feed is left: nobody
        knows which one was meant.

        Raises:
            InvalidInput: None of them is a URL.
        """
        wanted = await beside(len(urls) > LONG_LIST, url_lists.whole_list, urls)
        told = _told(app, Clock.SUBSCRIPTIONS)
        known = await self._spellings(app, device)
        synced = await self._store.change(
            app.account.id,
            None,
            lambda snapshot: url_lists.replace_list(snapshot, wanted, known, told, self._most),
        )
        await self._note_list(app, device, known, synced)
        return wanted.refused_count

    async def _note_list(
        self, app: Admitted, device: str, known: Spellings, synced: Synced
    ) -> Second:
        """Remember what an app has shown of itself; return the second to ask for next."""
        await self._learn(app, device, known, synced.app)
        clock = Clock.SUBSCRIPTIONS
        return await self._note_upload(app, clock, device, synced.began, synced.ended)

    async def _spellings(self, app: Admitted, device: str) -> Spellings:
        """Return by which URLs an app has the feeds that moved."""
        body = await self._store.document(app.account.id, "spellings", _app_name(app, device))
        return _SPELLINGS.decode(body) if body else UNKNOWN

    async def _learn(self, app: Admitted, device: str, before: Spellings, after: Spellings) -> None:
        """Remember what was learned of an app, with what its other requests showed meanwhile.

        Of more apps than an account has room for, nothing is remembered.
        """

        def decide(body: str | None, others: int) -> str:
            devices.check_room(others)
            kept = _SPELLINGS.decode(body) if body else UNKNOWN
            return _json(spellings.merged(kept, before, after))

        if after != before:
            name = _app_name(app, device)
            with contextlib.suppress(InvalidInput):
                await self._store.change_document(app.account.id, "spellings", name, decide)

    async def move(
        self, account_id: AccountId, old_url: str, new_url: str, *, is_told_to_apps: bool
    ) -> None:
        """Give a feed another URL; with `is_told_to_apps`, have apps give up the old one, too.

        They lose what they have of the feed with that. So its episode actions get new stamps, and
        come to every app once more, under the new URL.

        Raises:
            InvalidInput: One of the URLs is none, the new one is another subscription's, or the
                account has no feed by the old one.
        """
        old, new = parse_feed_url(old_url), parse_feed_url(new_url)
        try:
            guids = await self._store.change(
                account_id,
                [old.guid, new.guid],
                lambda snapshot: url_lists.move(
                    snapshot, old, new, is_told=is_told_to_apps, most=self._most
                ),
            )
        except UnknownSubscription:
            raise InvalidInput("The account has no feed with the old URL.") from None
        if is_told_to_apps:
            for guid in guids:
                await self._tell_actions_anew(account_id, guid)

    async def _tell_actions_anew(self, account_id: AccountId, podcast_guid: Guid) -> None:
        newest = await self._store.advance(account_id, Clock.ACTIONS, seconds.settled)
        first = Stamp(0)
        while True:
            request = ActionRequest(first, podcast_guid, _STAMPED_AT_ONCE)
            listed = await self._store.actions(account_id, request)
            old = [action for action in listed if action.revision <= newest]
            if not old:
                return
            await self._store.record(account_id, old, episode_actions.stamped_anew, max)
            first = later(old[-1].revision, 1)

    # Episode actions

    async def actions(
        self, app: Admitted, since: Second, podcast: str = "", *, only_last: bool = False
    ) -> ToldActions:
        """Tell the actions that came since a second, however many, and the second to ask for next.

        Of one podcast, if it is named; of all devices, since these are labels only. With
        `only_last`, the last of each episode.
        """
        clock = await self._settle(app, Clock.ACTIONS, app.account.last_action_stamp)
        told = _told(app, Clock.ACTIONS)
        second = seconds.second_of(clock)
        first = seconds.first_second(since, second, told)
        stamp = seconds.first_stamp(first)
        wanted = ActionRequest(stamp, _podcast_guid(podcast), LISTED_AT_ONCE, clock)
        not_own = partial(episode_actions.without_own, told=told, since=since)
        is_everything = first <= seconds.EVERYTHING
        listed = ActionPages(
            self._store, app.account.id, wanted, list if is_everything else not_own
        )
        if first < second:
            await listed.begin(only_last=only_last)
        if not podcast:  # else it was not told all
            await self._note(app, Clock.ACTIONS, seconds.after_reply(since, second, told))
        return ToldActions(listed.pages(), second)

    async def record(self, app: Admitted, sent: Sequence[SentAction]) -> Uploaded:
        """Keep actions; those that are none are left out, and a bad URL is told."""
        judged, turn = [], Turn()
        for action in sent:
            judged.append(episode_actions.judge(action))
            await turn.end_if_long()
        kept = [action for action in judged if isinstance(action, EpisodeAction)]
        until = partial(seconds.clock_after_upload, _told(app, Clock.ACTIONS))
        began, ended = await self._store.record(app.account.id, kept, episode_actions.record, until)
        refused = dict.fromkeys(item.url for item in judged if isinstance(item, RefusedUrl))
        timestamp = await self._note_upload(app, Clock.ACTIONS, "", began, ended)
        return Uploaded(timestamp, [(url, "") for url in refused])

    # Devices and settings

    async def devices(self, account_id: AccountId) -> list[Device]:
        """Return all devices by id."""
        found = await self._store.documents(account_id, "device")
        return [_DEVICE.decode(document.body) for document in found]

    async def describe_device(
        self, account_id: AccountId, device_id: str, caption: str = "", kind: str = ""
    ) -> None:
        """Make a device known, or describe it anew; an empty text leaves a thing as it is.

        Raises:
            InvalidInput: The id is none, or there are too many.
        """

        def decide(body: str | None, others: int) -> str:
            devices.check_room(others)
            known = _DEVICE.decode(body) if body else None
            return _json(devices.described(device_id, known, caption, kind))

        devices.check_id(device_id)
        await self._store.change_document(account_id, "device", device_id, decide)

    async def meet_device(self, account_id: AccountId, device_id: str) -> None:
        """Make a device known that nobody has described yet, if there is room.

        It is only a label, so a lack of room is no reason to refuse what it sent.
        """
        if await self._store.document(account_id, "device", device_id) is None:
            with contextlib.suppress(InvalidInput):
                await self.describe_device(account_id, device_id)

    async def settings(self, account_id: AccountId, scope: str) -> str:
        """Return what apps keep under a scope, as JSON; how deep that is does not matter here."""
        return await self._store.document(account_id, "settings", _name_of(scope)) or "{}"

    async def change_settings(
        self,
        account_id: AccountId,
        scope: str,
        wanted: Mapping[str, object],
        removed: Sequence[str],
    ) -> str:
        """Set and remove what apps keep under a scope; return all of it, as JSON.

        Raises:
            InvalidInput: It is too much.
        """

        def decide(body: str | None, others: int) -> str:
            devices.check_room(others)
            changed = _json(devices.with_settings(_settings_of(body), wanted, removed))
            if len(changed.encode()) > MAX_SETTINGS_BYTES:
                raise InvalidInput(f"At most {MAX_SETTINGS_BYTES:,} bytes of settings are kept.")
            return changed

        name = _name_of(scope)
        return await self._store.change_document(account_id, "settings", name, decide)

    async def migrated(self, account_id: AccountId, where: str) -> Migrated:
        """Return what came from another server so far."""
        body = await self._store.document(account_id, "migration", _name_of(where))
        return _MIGRATED.decode(body) if body else Migrated()

    async def note_migrated(self, account_id: AccountId, where: str, so_far: Migrated) -> None:
        """Remember what came from another server so far."""
        body = _json(so_far)
        await self._store.change_document(account_id, "migration", _name_of(where), lambda *_: body)

    # What an app was told

    async def _settle(self, app: Admitted, clock: Clock, now: Stamp) -> Stamp:
        if seconds.is_settled(now):
            return now
        return await self._store.advance(app.account.id, clock, seconds.settled)

    async def _note_upload(
        self, app: Admitted, clock: Clock, device: str, began: Stamp, ended: Stamp
    ) -> Second:
        """Remember that an app has got what it was told, and what it sent.

        Returns the second that it may go on from.
        """
        after = seconds.after_upload(_told(app, clock), device, began, ended)
        await self._note(app, clock, after)
        return seconds.EVERYTHING if after.told is None else after.told

    async def _note(self, app: Admitted, clock: Clock, told: Told) -> None:
        before = _told(app, clock)
        if app.token and told != before:
            await self._store.note_told(app.account.id, app.token.id, clock, told)


def _told(app: Admitted, clock: Clock) -> Told:
    """Return how far an app knows what changed, if it has a token or session of its own."""
    token = app.token
    if token is None:
        return Told()
    is_alone = token.is_granted or token.is_session
    if clock is Clock.SUBSCRIPTIONS:
        known = (token.told_subscriptions, token.heard_subscriptions, token.own_subscriptions)
    else:
        known = (token.told_actions, token.heard_actions, token.own_actions)
    return Told(*known, is_alone)


def _app_name(app: Admitted, device: str) -> str:
    """Return what tells an app from others: its device, or else a token of its own.

    Sessions do not: AntennaPod begins one with each sync.
    """
    if device:
        return f"device {device}"
    return f"token {app.token.id}" if app.token and not app.token.is_session else ""


def _kept(item: Wanted | Refused, result: Added | Refused) -> tuple[str, str]:
    sent = item.sent if isinstance(item, Wanted) else item.feed_url
    return sent, result.subscription.feed_url if isinstance(result, Added) else ""


def _podcast_guid(podcast: str) -> Guid | None:
    return parse_feed_url(podcast).guid if podcast else None


def _settings_of(body: str | None) -> dict[str, object]:
    try:
        return _SETTINGS.decode(body) if body else {}
    except RecursionError:  # it was let in before there was a bound on the depth, and gives way now
        return {}


def _name_of(scope: str) -> str:
    """Return a short name for a scope, which can be two long URLs."""
    return hashlib.sha256(scope.encode()).hexdigest()[:32]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
