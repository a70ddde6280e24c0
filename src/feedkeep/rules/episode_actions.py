"""Episode actions: which are acceptable, which is the latest, and what to list of them. Pure."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from feedkeep.errors import InvalidFeedUrl
from feedkeep.model import (
    ActionDecision,
    ActionSnapshot,
    EpisodeAction,
    Guid,
    Second,
    Stamp,
    Told,
    Value,
    replace,
)
from feedkeep.rules.clock import next_stamp
from feedkeep.rules.devices import is_device_id
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.seconds import first_stamp, is_own, second_of

KINDS = {"download", "play", "delete", "new", "flattr"}
"""What can be done with an episode. On a reply with any other, mygpoclient gives up for good."""

MAX_EPISODE_CHARACTERS = 8_192

_MAX_GUID_CHARACTERS = 1_024
_NOT_TOLD = -1  # as the second in which something was done
_MAX_NUMBER = 2**53 - 1

_BROKEN = re.compile(r"[\x00-\x20\x7f]")


class SentAction(Value, frozen=True):
    """An episode action as an app sent it.

    Attributes:
        done: When it was done, in seconds since 1970 by the app's clock; None if it does not say,
            or nothing that can be read.
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
    """A URL, of a podcast or an episode, that is none."""

    url: str


def judge(sent: SentAction) -> EpisodeAction | RefusedUrl | None:
    """Return what is to be kept of an action, or the URL that is none, or None for no action.

    White space around URLs is cut off. Numbers that make no sense are left out, and so is where
    playing began if it is not told where it ended.
    """
    kind = sent.kind.strip().lower()
    if kind not in KINDS:
        return None
    try:
        podcast = parse_feed_url(sent.podcast)
    except InvalidFeedUrl:
        return RefusedUrl(sent.podcast)
    episode = sent.episode.strip()
    if not episode or len(episode) > MAX_EPISODE_CHARACTERS or _BROKEN.search(episode):
        return RefusedUrl(sent.episode)
    device = sent.device if is_device_id(sent.device) else ""
    guid = sent.episode_guid or None
    if guid and (len(guid) > _MAX_GUID_CHARACTERS or "\0" in guid):
        guid = None
    # mygpoclient gives up for good on a reply with a start but no position.
    numbers = (_number(sent.started), _number(sent.position), _number(sent.total))
    if kind != "play" or numbers[1] is None:
        numbers = (None, None, None)
    return EpisodeAction(
        _key(podcast.guid, episode, device, kind),
        podcast.guid,
        podcast.text,
        episode,
        device,
        kind,
        _NOT_TOLD if sent.done is None else sent.done,
        *numbers,
        guid,
    )


def record(snapshot: ActionSnapshot, sent: Sequence[EpisodeAction]) -> ActionDecision:
    """Keep the latest of each episode, device and kind, stamped with when the server got it.

    What was sent before changes nothing. Of one device the later one counts by the device's own
    clock, unless that was wrong when it said so: then the one that came later.
    """
    kept = dict(snapshot.known)
    changed: dict[bytes, None] = {}
    for action in sent:
        if _is_news(action, kept.get(action.key)):
            done = second_of(snapshot.now) if action.done == _NOT_TOLD else action.done
            kept[action.key] = replace(action, done=done, revision=snapshot.now)
            changed[action.key] = None
    return _stamped(snapshot, [kept[key] for key in changed])


def stamped_anew(snapshot: ActionSnapshot, _: Sequence[EpisodeAction]) -> ActionDecision:
    """Give actions new stamps, in the same order, so that all apps get them once more.

    AntennaPod loses a feed's play states when it is told that the feed moved.
    """
    return _stamped(snapshot, sorted(snapshot.known.values(), key=lambda action: action.revision))


def _stamped(snapshot: ActionSnapshot, actions: Iterable[EpisodeAction]) -> ActionDecision:
    clock = snapshot.last_stamp
    saved = []
    for action in actions:
        clock = next_stamp(clock, snapshot.now)
        saved.append(replace(action, revision=clock))
    return ActionDecision(saved, clock)


def among(actions: Iterable[EpisodeAction], revisions: Sequence[Stamp]) -> list[EpisodeAction]:
    """Return the actions that have one of some revisions, which are in order."""

    def is_one(revision: Stamp) -> bool:
        place = bisect_left(revisions, revision)
        return place < len(revisions) and revisions[place] == revision

    return [action for action in actions if is_one(action.revision)]


def without_own(listed: Iterable[EpisodeAction], told: Told, since: Second) -> list[EpisodeAction]:
    """Return actions without those that an app itself has sent, and nobody has changed since.

    AntennaPod takes what comes for newer than what was played since.
    """
    return [action for action in listed if not is_own(told, "", since, action.revision)]


def spelled(actions: Iterable[EpisodeAction], feed_urls: Mapping[Guid, str]) -> list[EpisodeAction]:
    """Return actions with the URLs that their podcasts have in the list now.

    gPodder finds an episode by the URL of its podcast.
    """
    return [
        replace(action, podcast=feed_urls.get(action.podcast_guid, action.podcast))
        for action in actions
    ]


def _is_news(action: EpisodeAction, kept: EpisodeAction | None) -> bool:
    if kept is None:
        return True
    # Otherwise a device whose clock was a day ahead is ignored for a day after it was corrected.
    was_clock_right = first_stamp(Second(kept.done)) <= kept.revision
    if _NOT_TOLD < action.done < kept.done and was_clock_right:
        return False
    # Apps repeat an upload when its reply was lost; only what differs is news to the others.
    done = kept.done if action.done == _NOT_TOLD else action.done
    return replace(action, done=done, revision=kept.revision, podcast=kept.podcast) != kept


def _key(podcast_guid: Guid, episode: str, device: str, kind: str) -> bytes:
    text = "\0".join((podcast_guid, episode, device, kind))
    return hashlib.sha256(text.encode()).digest()[:16]


def _number(value: int | None) -> int | None:
    return value if value is not None and 0 <= value <= _MAX_NUMBER else None
