"""Episodes of feeds: their names, keys in episode actions, and playing states. Pure."""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote

from feedkeep.model import (
    EPISODE_KEY_BYTES,
    FINISHED_SECONDS,
    Episode,
    EpisodeAction,
    Guid,
    Value,
)
from feedkeep.rules.text_limits import MAX_TITLE, line_of

MAX_EPISODES = 50
"""Maximum number of episodes of a feed."""

_USER_INFO = re.compile(r"(?<=://)[^/]*@")
_DIGEST_BYTES = 9
"""A multiple of three, which base64 writes without padding."""


class Playing(Value, frozen=True):
    """The playing state of an episode.

    Attributes:
        position_seconds: Position at which playing ended.
        total_seconds: Length of the episode; None if unknown.
    """

    position_seconds: int
    total_seconds: int | None = None

    @property
    def is_finished(self) -> bool:
        return is_finished(self.position_seconds, self.total_seconds)


def is_finished(position_seconds: int | None, total_seconds: int | None) -> bool:
    """Whether an episode was played to its end.

    AntennaPod decides so about a play that it is sent, and then marks the episode as played.
    """
    if position_seconds is None or total_seconds is None:
        return False
    return total_seconds - position_seconds <= FINISHED_SECONDS


def digest_of_file(url: str) -> str:
    """Return the hash of the URL of an episode's file."""
    return _digest("file", url)


def digest_of_guid(guid: str) -> str:
    """Return the hash of an episode's guid."""
    return _digest("guid", guid)


def key_of(podcast_guid: Guid, digest: str) -> bytes:
    """Return the key of an episode in the actions of a podcast, from a hash of its file or guid.

    A feed can have two episodes with one file, and change the URL of an episode's file.
    """
    return hashlib.sha256(f"{podcast_guid} {digest}".encode()).digest()[:EPISODE_KEY_BYTES]


def keys_of(podcast_guid: Guid, episode: Episode) -> list[bytes]:
    """Return the keys of an episode's guid and file, as far as they are known."""
    digests = (episode.guid_hash, episode.file_hash)
    return [key_of(podcast_guid, digest) for digest in digests if digest]


def named(
    episodes: Iterable[Episode], episode_url: str, episode_guid: str | None
) -> Episode | None:
    """Return the episode of an action: of its guid, or else of its file; None if unknown."""
    some = list(episodes)
    by_guid = {one.guid_hash: one for one in reversed(some) if one.guid_hash}
    by_file = {one.file_hash: one for one in reversed(some) if one.file_hash}
    of_guid = by_guid.get(digest_of_guid(episode_guid)) if episode_guid else None
    return of_guid or by_file.get(digest_of_file(episode_url))


def playing(
    podcast_guid: Guid, episodes: Sequence[Episode], plays: Iterable[EpisodeAction]
) -> Mapping[Episode, Playing]:
    """Return the playing states of episodes, from the newest plays of their files and guids.

    `podcast_guid` is the podcast of the actions. Episodes without a play are omitted.
    """
    newest: dict[bytes, EpisodeAction] = {}
    for play in sorted(plays, key=lambda play: play.revision):
        newest[play.file] = newest[play.key[:EPISODE_KEY_BYTES]] = play
    states = {}
    for one in episodes:
        keys = keys_of(podcast_guid, one)
        found = next((newest[key] for key in keys if key in newest), None)
        if found is not None and found.position is not None:
            states[one] = Playing(found.position, found.total or one.duration_seconds)
    return states


def _digest(kind: str, text: str) -> str:
    hashed = hashlib.sha256(f"{kind} {text}".encode(errors="replace")).digest()
    return urlsafe_b64encode(hashed[:_DIGEST_BYTES]).decode()


def episode_name(url: str) -> str:
    """Return the name of an episode's file, without query and user info: these may be secrets."""
    bare = _USER_INFO.sub("", url.partition("?")[0].partition("#")[0], count=1)
    path = (bare.partition("://")[2] or bare).rstrip("/")
    name = line_of(unquote(path.rpartition("/")[2]), MAX_TITLE)
    return name or line_of(bare, MAX_TITLE) or "?"
