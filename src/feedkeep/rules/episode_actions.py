"""Episode actions: which are valid, which is the latest, and which of them to list. Pure."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from feedkeep.errors import InvalidFeedUrl, InvalidInput
from feedkeep.model import (
    ActionDecision,
    ActionSnapshot,
    EpisodeAction,
    Guid,
    Second,
    Stamp,
    SyncProgress,
    Value,
    replace,
)
from feedkeep.rules.clock import next_stamp
from feedkeep.rules.devices import is_device_id
from feedkeep.rules.feed_urls import as_linked, parse_feed_url
from feedkeep.rules.seconds import first_stamp, is_own, second_of

KINDS = {"download", "play", "delete", "new", "flattr"}
"""The kinds of actions. On a reply with any other kind, mygpoclient gives up for good."""

PLAY = "play"
"""The kind of the actions that say how far an episode was played."""

MAX_EPISODE_CHARACTERS = 8_192

MAX_STORED = 500_000
"""How many actions an account may have: ten years of ten episodes a day on three devices."""

MAX_SENT_EPISODES = 50_000
"""The maximum number of episodes remembered while a reply is sent: 5 MB. Beyond it, all is sent."""

_MAX_GUID_CHARACTERS = 1_024
_NO_TIME = -1  # the `done` of an action that was sent without a time
_MAX_NUMBER = 2**53 - 1

_BROKEN = re.compile(r"[\x00-\x20\x7f]")


class SentAction(Value, frozen=True):
    """An episode action as an app sent it.

    Attributes:
        done: When it was done, in seconds since 1970 by the app's clock; None if no valid time was
            sent.
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
    """The URL of a podcast or an episode that is not valid."""

    url: str


def judge(sent: SentAction) -> EpisodeAction | RefusedUrl | None:
    """Return the action to store, or the URL that is not valid, or None for one to ignore.

    That is an action of an unknown kind, or one that says that an episode was played, but not how
    far. White space around URLs is removed, and numbers that make no sense are dropped.
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
    device = sent.device if is_device_id(sent.device) else ""
    guid = sent.episode_guid or None
    if guid and (len(guid) > _MAX_GUID_CHARACTERS or "\0" in guid):
        guid = None
    numbers: tuple[int | None, int | None, int | None] = (None, None, None)
    if kind == PLAY:
        position = _number(sent.position, least=1)
        # gPodder sends one as soon as playback starts, and AntennaPod one with -1 in every number.
        # AntennaPod goes back to the start of an episode on any `play` whose position is not > 0.
        if position is None:
            return None
        numbers = (_number(sent.started), position, _number(sent.total, least=1))
    return EpisodeAction(
        _key(podcast.guid, episode, device, kind),
        podcast.guid,
        podcast.text,
        episode,
        device,
        kind,
        _NO_TIME if sent.done is None else sent.done,
        *numbers,
        guid,
    )


def record(
    snapshot: ActionSnapshot, sent: Sequence[EpisodeAction], room: int = MAX_STORED
) -> ActionDecision:
    """Store the latest action of each episode, device and kind, with a stamp of when it came.

    An action that was sent before changes nothing. Of one device, the action that is later by the
    device's own clock counts; if that clock was wrong, the one that came later. One upload adds up
    to `room` actions; what changes one that is stored already has always room.

    Raises:
        InvalidInput: There is no room for all that were sent.
    """
    stored = dict(snapshot.known)
    changed: dict[bytes, None] = {}
    for action in sent:
        known = stored.get(action.key)
        if known is not None and action.total is None:
            action = replace(action, total=known.total)  # noqa: PLW2901
        if _is_news(action, known):
            done = second_of(snapshot.now) if action.done == _NO_TIME else action.done
            stored[action.key] = replace(action, done=done, revision=snapshot.now)
            changed[action.key] = None
    added = sum(key not in snapshot.known for key in changed)
    if added and snapshot.added + added > room:
        raise InvalidInput(
            "An account has up to {count} episode actions, and this one has no room for all of"
            " these. Nothing of this upload is stored.",
            count=MAX_STORED,
        )
    return _stamped(snapshot, [stored[key] for key in changed])


def stamped_anew(snapshot: ActionSnapshot, _: Sequence[EpisodeAction]) -> ActionDecision:
    """Give actions new stamps, in the same order, so that all apps get them once more.

    AntennaPod loses a feed's play states when it is told that the feed moved.
    """
    return _stamped(snapshot, sorted(snapshot.known.values(), key=lambda action: action.revision))


def in_order(pages: Iterable[Sequence[EpisodeAction]], limit: int) -> list[EpisodeAction]:
    """Return the actions of pages by rising revision, as far as none can be missing in between.

    A page with `limit` actions may go on, so what comes after its end is left out.
    """
    ends = [page[-1].revision for page in pages if len(page) == limit]
    listed = sorted((action for page in pages for action in page), key=lambda a: a.revision)
    return [action for action in listed if action.revision <= min(ends)] if ends else listed


def _stamped(snapshot: ActionSnapshot, actions: Iterable[EpisodeAction]) -> ActionDecision:
    clock = snapshot.last_stamp
    saved = []
    for action in actions:
        clock = next_stamp(clock, snapshot.now)
        saved.append(replace(action, revision=clock))
    return ActionDecision(saved, clock)


def among(actions: Iterable[EpisodeAction], revisions: Sequence[Stamp]) -> list[EpisodeAction]:
    """Return the actions that have one of the `revisions`, which are sorted."""

    def is_among(revision: Stamp) -> bool:
        place = bisect_left(revisions, revision)
        return place < len(revisions) and revisions[place] == revision

    return [action for action in actions if is_among(action.revision)]


class WithoutOwn:
    """Leaves out of a reply what the app itself has sent, and nobody has changed since.

    AntennaPod takes every action that it is sent for newer than what was played since. For the
    same reason, the app's own action is sent where another of its episode was sent before it: else
    the older one would be the last that the app hears of.
    """

    def __init__(self, progress: SyncProgress, since: Second) -> None:
        self._progress = progress
        self._since = since
        self._last_own = max((own.ended for own in progress.own_uploads), default=Stamp(0))
        self._sent: set[int] = set()  # hashes: a URL can be 8 KB

    def __call__(self, listed: Iterable[EpisodeAction]) -> list[EpisodeAction]:
        """Return the actions of the next page that are to be sent; pages come in their order."""
        return [action for action in listed if self._is_sent(action)]

    def _is_sent(self, action: EpisodeAction) -> bool:
        if action.revision > self._last_own:
            return True
        episode = hash(action.episode)
        if not is_own(self._progress, "", self._since, action.revision):
            if len(self._sent) < MAX_SENT_EPISODES:
                self._sent.add(episode)
            return True
        return episode in self._sent or len(self._sent) == MAX_SENT_EPISODES


def can_be_told(action: EpisodeAction) -> bool:
    """Say whether every app reads an action as it is meant.

    AntennaPod takes the numbers of a `play` only if its position and its total are greater than 0,
    and otherwise goes back to the start. Kasts marks an episode as played whose position is its
    total, so a total is never made up.
    """
    return action.kind != PLAY or bool(action.position and action.total)


def told(actions: Iterable[EpisodeAction]) -> list[EpisodeAction]:
    """Return those of some actions that apps are told, as they are told.

    AntennaPod takes the numbers of a `play` only if it has the position where playing began, too.
    """
    return [
        replace(action, started=0) if action.kind == PLAY and action.started is None else action
        for action in actions
        if can_be_told(action)
    ]


def spelled(actions: Iterable[EpisodeAction], feed_urls: Mapping[Guid, str]) -> list[EpisodeAction]:
    """Return actions with the present feed URLs of their podcasts.

    gPodder finds an episode by the URL of its podcast.
    """
    return [
        replace(action, podcast=feed_urls.get(action.podcast_guid, action.podcast))
        for action in actions
    ]


def _is_news(action: EpisodeAction, stored: EpisodeAction | None) -> bool:
    if stored is None:
        return True
    # Otherwise a device whose clock was a day ahead is ignored for a day after it was corrected.
    was_clock_right = first_stamp(Second(stored.done)) <= stored.revision
    if _NO_TIME < action.done < stored.done and was_clock_right:
        return False
    # Apps repeat an upload when its reply was lost; only what differs is news to the others.
    done = stored.done if action.done == _NO_TIME else action.done
    return replace(action, done=done, revision=stored.revision, podcast=stored.podcast) != stored


def _key(podcast_guid: Guid, episode: str, device: str, kind: str) -> bytes:
    text = "\0".join((podcast_guid, episode, device, kind))
    return hashlib.sha256(text.encode()).digest()[:16]


def _number(value: int | None, least: int = 0) -> int | None:
    return value if value is not None and least <= value <= _MAX_NUMBER else None
