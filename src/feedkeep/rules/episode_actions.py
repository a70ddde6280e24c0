"""Episode actions: which are acceptable, which is the latest, and what to list of them. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from feedkeep.errors import InvalidFeedUrl
from feedkeep.model import (
    ActionDecision,
    ActionSnapshot,
    EpisodeAction,
    Guid,
    Stamp,
    Value,
    replace,
)
from feedkeep.rules.clock import next_stamp
from feedkeep.rules.devices import is_device_id
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.seconds import first_stamp, second_of

MAX_EPISODE_CHARACTERS = 8_192
MAX_LISTED = 10_000
"""How many actions a reply holds at most; the rest is told to whoever asks again."""

_MAX_GUID_CHARACTERS = 1_024
_MAX_NUMBER = 2**53 - 1
_US_BETWEEN_STAMPS = 1_000
"""So that no second has more than 1,000 actions, and every reply comes further than the last."""

_KIND = re.compile(r"[a-z]{1,16}")
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


def judge(sent: SentAction, now: Stamp) -> EpisodeAction | RefusedUrl | None:
    """Return what is to be kept of an action, or the URL that is none, or None for no action.

    White space around URLs is cut off; numbers that make no sense are left out.
    """
    kind = sent.kind.strip().lower()
    if not _KIND.fullmatch(kind):
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
    numbers = (_number(sent.started), _number(sent.position), _number(sent.total))
    return EpisodeAction(
        _key(podcast.guid, episode, device, kind),
        podcast.guid,
        podcast.text,
        episode,
        device,
        kind,
        second_of(now) if sent.done is None else sent.done,
        *(numbers if kind == "play" else (None, None, None)),
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
        if _is_news(action, kept.get(action.key), snapshot.now):
            kept[action.key] = replace(action, revision=snapshot.now)
            changed[action.key] = None
    clock = snapshot.last_stamp
    saved = []
    for key in changed:
        clock = next_stamp(clock + _US_BETWEEN_STAMPS - 1, snapshot.now)
        saved.append(replace(kept[key], revision=clock))
    return ActionDecision(saved, clock)


def whole_seconds(
    listed: Sequence[EpisodeAction], newest: int
) -> tuple[Sequence[EpisodeAction], int]:
    """Return as many actions as a reply holds, none of a second cut, and the second to tell.

    `listed` is in order, with one more than a reply holds if there are more.
    """
    if len(listed) <= MAX_LISTED:
        return listed, newest
    end = second_of(listed[-1].revision)
    return [action for action in listed if action.revision < first_stamp(end)], end - 1


def aggregated(actions: Iterable[EpisodeAction]) -> list[EpisodeAction]:
    """Return only the last action of each episode, in order."""
    last: dict[tuple[Guid, str], EpisodeAction] = {}
    for action in actions:
        last.pop((action.podcast_guid, action.episode), None)
        last[action.podcast_guid, action.episode] = action
    return list(last.values())


def _is_news(action: EpisodeAction, kept: EpisodeAction | None, now: Stamp) -> bool:
    if kept is None:
        return True
    was_clock_right = first_stamp(kept.done) <= kept.revision
    if action.done < kept.done and was_clock_right:
        return False
    # An action without a time is given that of its coming, which is no news by itself.
    same_time = kept.done if action.done == second_of(now) else action.done
    return replace(action, done=same_time, revision=kept.revision, podcast=kept.podcast) != kept


def _key(podcast_guid: Guid, episode: str, device: str, kind: str) -> bytes:
    text = "\0".join((podcast_guid, episode, device, kind))
    return hashlib.sha256(text.encode()).digest()[:16]


def _number(value: int | None) -> int | None:
    return value if value is not None and 0 <= value <= _MAX_NUMBER else None
