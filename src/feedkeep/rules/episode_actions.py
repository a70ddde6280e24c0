"""Episode actions: validation, finding the latest, and which to send. Pure."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence

from feedkeep.model import (
    EPISODE_KEY_BYTES,
    ActionDecision,
    ActionSnapshot,
    Entry,
    EpisodeAction,
    Guid,
    Pointer,
    Second,
    Stamp,
    Subscription,
    SyncProgress,
    Value,
    replace,
)
from feedkeep.model.errors import InvalidFeedUrl, InvalidInput
from feedkeep.model.weights import weight_of_action
from feedkeep.rules.clock import next_stamp
from feedkeep.rules.devices import is_device_id
from feedkeep.rules.episodes import digest_of_file, digest_of_guid, key_of
from feedkeep.rules.feed_urls import FeedUrl, as_linked, is_for_apps, parse_feed_url
from feedkeep.rules.seconds import is_own, second_of

KINDS = {"download", "play", "delete", "new", "flattr"}
"""The kinds of actions. A reply with any other kind stops mygpoclient permanently."""

_DELETE = "delete"
PLAY = "play"
"""The kind of actions that report how far an episode was played."""

MAX_EPISODE_CHARACTERS = 8_192

MAX_STORED = 400_000
"""Maximum weight of an account's actions, 0.6 GB.

Ten years of ten episodes a day, each downloaded, played and deleted on three devices, are 328,500.
"""

MAX_SECONDS = 2_147_483
"""Maximum position and length: AntennaPod counts milliseconds in 32 bits."""

_KEY_BYTES = 16
_MAX_GUID_CHARACTERS = 1_024
_NO_TIME = -1  # `done` of an action that was sent without a time
_MAX_NUMBER = 2**53 - 1

_BROKEN = re.compile(r"[\x00-\x1f\x7f]")


class SentAction(Value, frozen=True):
    """An episode action as an app sent it.

    Attributes:
        done: Time of the action, in seconds since 1970 by the app's clock; None if no valid time
            was sent.
    """

    podcast: str
    episode: str
    device: str
    kind: str
    done: int | None
    started: int | None = None
    position: int | None = None
    total: int | None = None
    episode_guid: str | None = None


class RefusedUrl(Value, frozen=True):
    """The invalid URL of a podcast or an episode."""

    url: str


def judge(sent: SentAction, app: str | None = None) -> EpisodeAction | RefusedUrl | None:
    """Return the action to store, an invalid URL, or None for an action to ignore.

    `app` is the name of the app that sent it.

    Ignored are unknown kinds, and plays without a valid position. White space around URLs is
    removed, and senseless numbers are dropped. The URL of an episode is a name that apps compare,
    and is never requested: it may contain spaces.
    """
    kind = sent.kind.strip().lower()
    if kind not in KINDS:
        return None
    try:
        podcast = parse_feed_url(as_linked(sent.podcast))
    except InvalidFeedUrl:
        return RefusedUrl(sent.podcast)
    episode = sent.episode.strip()
    if not episode or len(episode) > MAX_EPISODE_CHARACTERS or _BROKEN.search(episode):
        return RefusedUrl(sent.episode)
    device = device_of(sent)
    guid = sent.episode_guid or None
    if guid and (len(guid) > _MAX_GUID_CHARACTERS or "\0" in guid):
        guid = None
    numbers: tuple[int | None, int | None, int | None] = (None, None, None)
    if kind == PLAY:
        position = _number(sent.position, least=1)
        # gPodder sends one as soon as playback starts, and AntennaPod one with -1 in every number.
        # AntennaPod returns to the start of an episode on any `play` whose position is not > 0.
        if position is None:
            return None
        numbers = (_number(sent.started), position, _number(sent.total, least=1))
    action = EpisodeAction(
        b"",
        podcast.guid,
        podcast.text,
        episode,
        device,
        kind,
        _NO_TIME if sent.done is None else sent.done,
        *numbers,
        guid,
        app=app,
    )
    return replace(action, key=_key_of(action), file=_file_of(action))


def device_of(sent: SentAction) -> str:
    """Return the device that an action names, whether it is stored or not; "" if it names none."""
    return sent.device if is_device_id(sent.device) else ""


def grouped(sent: Sequence[EpisodeAction]) -> list[EpisodeAction]:
    """Return the actions of an upload in the order of storing them.

    Actions with the same key are together, in the order of the upload. Keys are in the order of
    their latest time: of several actions at the same time, apps take the last one for the present
    state.
    """
    groups: dict[bytes, list[EpisodeAction]] = {}
    for action in sent:
        groups.setdefault(action.key, []).append(action)
    ordered = sorted(groups.values(), key=lambda group: max(map(_done_or_now, group)))
    return [action for group in ordered for action in group]


def _done_or_now(action: EpisodeAction) -> int:
    return _MAX_NUMBER if action.done == _NO_TIME else action.done


def record(snapshot: ActionSnapshot, sent: Sequence[EpisodeAction]) -> ActionDecision:
    """Store the latest action of each episode, device and kind, stamped by its arrival.

    An action that was sent before changes nothing, nor does a play with the position and length of
    its episode's newest play: Cardo uploads what it was sent. Of one device, the later action by
    the device's own clock counts; if that clock was ahead, an action after its correction does.
    Actions that add no weight always fit.

    Raises:
        InvalidInput: There is no room for all actions.
    """
    draft = _Draft(snapshot, sent)
    groups: dict[bytes, list[EpisodeAction]] = {}
    for action in sent:
        groups.setdefault(action.key, []).append(action)
    for key, group in groups.items():
        draft.take(key, group)
    return _with_room(snapshot, draft.decision())


def _with_room(snapshot: ActionSnapshot, decision: ActionDecision) -> ActionDecision:
    if decision.added > 0 and snapshot.count + decision.added > MAX_STORED:
        raise InvalidInput(
            "An account has up to {count} episode actions, each counted once for each KiB that it"
            " begins, and this one has no room for all of these. Nothing of this upload is stored.",
            count=MAX_STORED,
        )
    return decision


def resent(snapshot: ActionSnapshot, wanted: Sequence[EpisodeAction]) -> ActionDecision:
    """Give actions new stamps, in the same order, so that all apps are sent them again.

    AntennaPod loses a feed's play states when it is sent the feed's move.
    """
    draft = _Draft(snapshot, ())
    for action in sorted(wanted, key=lambda action: action.revision):
        stored = draft.rows.get(action.key)
        if stored is not None and not stored.is_superseded:
            draft.changed[stored.key] = stored.revision
    return draft.decision()


def refiled(action: EpisodeAction, podcast: FeedUrl) -> EpisodeAction:
    """Return the action as an action of another podcast."""
    moved = replace(action, podcast=podcast.text, podcast_guid=podcast.guid)
    return replace(moved, key=_key_of(moved), file=_file_of(moved))


def join(
    snapshot: ActionSnapshot,
    sent: Sequence[EpisodeAction],
    former: Mapping[bytes, EpisodeAction],
) -> ActionDecision:
    """Join the actions of two podcasts that have become one feed.

    `sent` are the actions as `refiled` returns them, and `former` the same as stored, by the new
    keys. Apps are sent the newest play of an episode again, since they may have been sent the other
    podcast's play last.

    Raises:
        InvalidInput: There is no room for them under the other podcast's URL.
    """
    draft = _Draft(snapshot, sent)
    for action in sent:
        draft.move_in(action)
    decision, removed = draft.decision(), [former[action.key] for action in sent]
    added = decision.added - sum(map(weight_of_action, removed))
    return _with_room(snapshot, replace(decision, removed=removed, added=added))


def podcasts_joined(before: Mapping[Guid, Entry], saved: Collection[Entry]) -> dict[Guid, FeedUrl]:
    """Return the podcasts whose actions move to another URL, with that URL.

    A merge, a move, another guid or a restored list can cause it. `before` are the entries before
    the change, and `saved` the entries that it saved.
    """
    after = {**before, **{entry.guid: entry for entry in saved}}
    found: dict[Guid, FeedUrl] = {}
    for entry in saved:
        if isinstance(entry, Subscription) and entry.guid not in before:  # nearly always
            continue
        was, now = _first_url_by(before, entry.guid), _first_url_by(after, entry.guid)
        if now == was or (was is None and isinstance(entry, Subscription)):
            continue
        guid = entry.guid if was is None else parse_feed_url(was).guid
        text = _first_url_by(after, guid)
        if text is not None and (url := parse_feed_url(text)).guid != guid:
            found[guid] = url
    return found


def _first_url_by(entries: Mapping[Guid, Entry], guid: Guid) -> str | None:
    entry = entries.get(guid)
    if isinstance(entry, Pointer):
        entry = entries.get(entry.new_guid)
    return first_url(entry) if isinstance(entry, Subscription) else None


def first_url(feed: Subscription) -> str:
    """Return the URL under which the actions of a feed are stored, as far as it is known.

    That is the URL that its guid is derived from, or else the present one.
    """
    return feed.feed_url if feed.alias is None else feed.alias.url


def sent_second(action: EpisodeAction) -> int:
    """Return the time of an action, as sent to apps.

    It is limited to the time of receipt: otherwise a device whose clock is ahead would override all
    others for as long.
    """
    return min(action.done, second_of(action.received))


class _Draft:
    """Stored actions while a rule changes them.

    Attributes:
        rows: The new actions by key.
        changed: Keys of the actions to send to apps, with their sort keys.
    """

    def __init__(self, snapshot: ActionSnapshot, sent: Sequence[EpisodeAction]) -> None:
        self._snapshot = snapshot
        # The server's own clock can be behind, too, until it is set after a start.
        self._received = max(snapshot.now, snapshot.last_stamp)
        self._now = second_of(self._received)
        self.changed: dict[bytes, int] = {}
        self.rows = dict(snapshot.known)
        self._guids_of_file: dict[bytes, set[bytes]] = {}
        for action in (*snapshot.known.values(), *sent):
            if action.episode_guid is not None:
                self._guids_of_file.setdefault(action.file, set()).add(episode_of(action))
        self._moved_in: set[bytes] = set()
        self._newest: dict[bytes, EpisodeAction] = {}
        for action in snapshot.known.values():
            self._note_newest(action)

    def take(self, key: bytes, group: Sequence[EpisodeAction]) -> None:
        """Add the actions of an upload with one key, in the order of the upload."""
        stored = self.rows.get(key)
        # Apps repeat an upload when its reply was lost. Actions before the stored one in the upload
        # were stored before it, too, whatever their clock said.
        again = [number for number, one in enumerate(group, 1) if stored and _is_same(one, stored)]
        for action in group[max(again, default=0) :]:
            stored = self.rows.get(key)
            if not self._is_news(action, stored) or self._is_echo(action):
                continue
            done = self._now if action.done == _NO_TIME else action.done
            self.rows[key] = replace(action, done=done, received=self._received)
            self.changed[key] = done
            self._note_newest(self.rows[key])

    def move_in(self, action: EpisodeAction) -> None:
        """Add a stored action of another podcast, unless a later one is stored here."""
        stored = self.rows.get(action.key)
        if not action.is_superseded and action.kind == PLAY and can_be_sent(action):
            self._moved_in.add(action.key)
        if stored is None or self._order(stored) < self._order(action):
            self.rows[action.key] = action
            self.changed[action.key] = action.done

    def _is_news(self, action: EpisodeAction, stored: EpisodeAction | None) -> bool:
        if stored is None:
            return True
        if _NO_TIME < action.done < stored.done:
            # Otherwise a device whose clock was a day ahead would be ignored for a day after its
            # correction. A time that is ahead of `_now` comes from the wrong clock.
            return sent_second(stored) < action.done <= self._now
        return not _is_same(action, stored)

    def _is_echo(self, action: EpisodeAction) -> bool:
        newest = self._newest.get(self._group(action))
        return (
            newest is not None
            and action.kind == PLAY
            and action.position == newest.position
            and action.total in {None, newest.total}
        )

    def _group(self, action: EpisodeAction) -> bytes:
        """Return the key of an action's episode; without a guid, that of the file's only guid."""
        if action.episode_guid is None:
            guids = self._guids_of_file.get(action.file, ())
            if len(guids) == 1:
                return next(iter(guids))
        return episode_of(action)

    def _note_newest(self, action: EpisodeAction) -> None:
        if action.kind != PLAY or action.is_superseded:
            return
        group = self._group(action)
        other = self._newest.get(group)
        if other is None or self._order(other) <= self._order(action):
            self._newest[group] = action

    def decision(self) -> ActionDecision:
        """Return the actions to save, with new stamps for the ones to send."""
        others = self._agree()
        sent_until = self._stamp(self._snapshot.last_stamp, self.changed)
        clock = self._stamp(sent_until, others)
        known = self._snapshot.known
        saved = [action for key, action in self.rows.items() if action != known.get(key)]
        before = (known[action.key] for action in saved if action.key in known)
        added = sum(map(weight_of_action, saved)) - sum(map(weight_of_action, before))
        return ActionDecision(saved, clock, sent_until if others else None, added=added)

    def _stamp(self, clock: Stamp, keys: Mapping[bytes, int]) -> Stamp:
        for key in sorted(keys, key=keys.__getitem__):
            clock = next_stamp(clock, self._snapshot.now)
            self.rows[key] = replace(self.rows[key], revision=clock)
        return clock

    def _agree(self) -> dict[bytes, int]:
        """Supersede older plays, and give an episode's other actions the same file and length.

        Returns the keys of newest plays that were stored before and must be sent now: their length
        was unknown, or they belonged to two episodes.
        """
        lengths: dict[bytes, int] = {}
        for action in [*self._snapshot.known.values(), *self.rows.values()]:
            for named in (action.file, episode_of(action)):
                lengths[named] = max(action.total or 0, lengths.get(named, 0))
        episodes: dict[bytes, list[EpisodeAction]] = {}
        for action in self.rows.values():
            is_superseded = action.is_superseded and action.key not in self.changed
            if not is_superseded or action.key in self._moved_in:
                episodes.setdefault(self._group(action), []).append(action)
        sent_now: dict[bytes, int] = {}
        for actions in episodes.values():
            # AntennaPod compares the actions of one file, and would apply the older one last.
            last = max(reversed(actions), key=self._order)
            plays = [action for action in reversed(actions) if action.kind == PLAY]
            newest = max(plays, key=self._order, default=None)
            for action in actions:
                changed = replace(
                    action,
                    episode=last.episode,
                    file=last.file,
                    is_superseded=_is_superseded(action, newest),
                )
                if action is newest and not action.total:
                    total = max(lengths[action.file], lengths[episode_of(action)])
                    changed = replace(changed, total=total or None)
                self.rows[action.key] = changed
            if newest is not None and newest.key not in self.changed:
                had_no_length = can_be_sent(self.rows[newest.key]) and not can_be_sent(newest)
                were_two = sum(map(self._times_sent, plays)) > 1
                if had_no_length or were_two:
                    sent_now[newest.key] = newest.done
        return sent_now

    def _times_sent(self, play: EpisodeAction) -> int:
        """Count the episodes, here and elsewhere, whose newest play, as sent to apps, was this."""
        known = self._snapshot.known.get(play.key)
        was_sent = known is not None and not known.is_superseded and can_be_sent(known)
        return was_sent + (play.key in self._moved_in)

    def _order(self, action: EpisodeAction) -> tuple[int, bool, int]:
        is_changed = action.key in self.changed
        return sent_second(action), is_changed, action.done if is_changed else action.revision


def _is_superseded(action: EpisodeAction, newest: EpisodeAction | None) -> bool:
    """Whether apps are not sent an action, given the newest play of its episode.

    AntennaPod takes the last play that it is sent, and Kasts each one, without comparing it with
    their own. Kasts marks an episode as played on a deletion.
    """
    if newest is None or action is newest:
        return False
    if action.kind == PLAY:
        return True
    return action.kind == _DELETE and sent_second(action) < sent_second(newest)


def finishing(stored: Collection[EpisodeAction]) -> SentAction | None:
    """Return the play by which an episode's owner marks it as finished.

    `stored` are actions of the episode. Its position is the greatest length among them, which no
    app takes for unfinished; None without a length.
    """
    total = max((action.total or 0 for action in stored), default=0)
    if not total:
        return None
    last = max(stored, key=sent_second)
    return SentAction(
        last.podcast,
        last.episode,
        "",
        PLAY,
        None,
        position=total,
        total=total,
        episode_guid=last.episode_guid,
    )


def episode_of(action: EpisodeAction) -> bytes:
    """Return the beginning of the keys of all actions with an action's episode."""
    return action.key[:EPISODE_KEY_BYTES]


def in_order(pages: Iterable[Sequence[EpisodeAction]], limit: int) -> list[EpisodeAction]:
    """Merge pages by rising revision, up to where no action can be missing in between.

    A page with `limit` actions may continue, so actions after its end are omitted.
    """
    ends = [page[-1].revision for page in pages if len(page) == limit]
    listed = sorted((action for page in pages for action in page), key=lambda a: a.revision)
    return [action for action in listed if action.revision <= min(ends)] if ends else listed


def among(actions: Iterable[EpisodeAction], revisions: Sequence[Stamp]) -> list[EpisodeAction]:
    """Return the actions that have one of the `revisions`, which are sorted."""

    def is_among(revision: Stamp) -> bool:
        place = bisect_left(revisions, revision)
        return place < len(revisions) and revisions[place] == revision

    return [action for action in actions if is_among(action.revision)]


def without_own(
    listed: Iterable[EpisodeAction], progress: SyncProgress, since: Second
) -> list[EpisodeAction]:
    """Omit actions that the app itself has sent and that have not changed since.

    AntennaPod takes every action that it is sent for newer than its own later plays.
    """
    return [action for action in listed if not is_own(progress, "", since, action.revision)]


def can_be_sent(action: EpisodeAction) -> bool:
    """Whether every app interprets an action correctly.

    AntennaPod uses the numbers of a `play` only if its position and its total are greater than 0,
    and otherwise returns to the start. Kasts marks an episode as played if its position is its
    total, so a total is never made up. Numbers above `MAX_SECONDS` are negative in AntennaPod.
    """
    if action.kind != PLAY:
        return True
    numbers = action.position or 0, action.total or 0
    return min(numbers) > 0 and max(*numbers, action.started or 0) <= MAX_SECONDS


def as_sent(actions: Iterable[EpisodeAction]) -> list[EpisodeAction]:
    """Return the actions to send to apps, in the form to send.

    AntennaPod uses the numbers of a `play` only if it also has the position where playing began.
    """
    return [_as_sent(action) for action in actions if can_be_sent(action)]


def _as_sent(action: EpisodeAction) -> EpisodeAction:
    done, started = sent_second(action), action.started or 0 if action.kind == PLAY else None
    is_same = done == action.done and started == action.started
    return action if is_same else replace(action, done=done, started=started)


def spelled(
    actions: Iterable[EpisodeAction], feed_urls: Mapping[Guid, str | None]
) -> list[EpisodeAction]:
    """Return actions with the present feed URLs of their podcasts, where known.

    gPodder finds an episode by the URL of its podcast.
    """
    present = ((action, feed_urls.get(action.podcast_guid)) for action in actions)
    return [
        action if url is None or url == action.podcast else replace(action, podcast=url)
        for action, url in present
    ]


def spelled_for_apps(
    actions: Iterable[EpisodeAction], feed_urls: Mapping[Guid, str | None]
) -> list[EpisodeAction]:
    """As `spelled`, without podcasts that apps are not sent (C3.18)."""
    return [action for action in spelled(actions, feed_urls) if is_for_apps(action.podcast)]


def _is_same(action: EpisodeAction, stored: EpisodeAction) -> bool:
    """Whether an action is already stored: repeating it is no news to other apps."""
    as_stored = replace(
        action,
        done=stored.done if action.done == _NO_TIME else action.done,
        podcast=stored.podcast,
        episode=stored.episode,
        file=stored.file,
        is_superseded=stored.is_superseded,
        total=stored.total if action.total is None else action.total,
        received=stored.received,
        revision=stored.revision,
        app=stored.app,
    )
    return as_stored == stored


def _file_of(action: EpisodeAction) -> bytes:
    return key_of(action.podcast_guid, digest_of_file(action.episode))


def _key_of(action: EpisodeAction) -> bytes:
    """Return the key of an action; its prefix identifies the episode."""
    guid = action.episode_guid
    digest = digest_of_file(action.episode) if guid is None else digest_of_guid(guid)
    way = hashlib.sha256(f"{action.device}\0{action.kind}".encode()).digest()
    return key_of(action.podcast_guid, digest) + way[: _KEY_BYTES - EPISODE_KEY_BYTES]


def _number(value: int | None, least: int = 0) -> int | None:
    return value if value is not None and least <= value <= MAX_SECONDS else None
