"""What was done with episodes.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from feedkeep.model.values import Guid, Stamp, Value

EPISODE_KEY_BYTES = 10
"""Length of the beginning of `EpisodeAction.key` that identifies the episode."""


class EpisodeAction(Value, frozen=True):
    """The latest action of one kind with an episode on a device.

    Attributes:
        key: 16 bytes that identify it in its account: ten for podcast and episode, which is known
            by its guid, or by its URL if none was sent, and six for device and kind.
        file: The ten bytes of a key for the podcast and the URL of the episode.
        podcast_guid: The derived guid of the podcast's URL.
        podcast: The podcast's feed URL, as it was sent.
        episode: The URL of the episode's file, as it was sent last.
        device: The id of the device; "" if none was sent.
        kind: What was done, such as "play".
        done: When, by the device's own clock, in seconds since 1970.
        started: The position in seconds at which playing began; None if it was not sent.
        position: The position in seconds at which playing ended; None if it was not sent.
        total: The episode's length in seconds; None if it was not sent.
        episode_guid: The guid that the feed gives the episode; None if it was not sent.
        revision: The stamp under which it is sent to apps; it can get a new one.
        received: The server's clock when it was received.
        is_superseded: Whether apps are not sent it, since a later play of the episode is known: of
            a play on any device, of a deletion an earlier one than that play.
    """

    key: bytes
    podcast_guid: Guid
    podcast: str
    episode: str
    device: str
    kind: str
    done: int
    started: int | None = None
    position: int | None = None
    total: int | None = None
    episode_guid: str | None = None
    revision: Stamp = Stamp(0)
    received: Stamp = Stamp(0)
    file: bytes = b""
    is_superseded: bool = False


class ActionSnapshot(Value, frozen=True):
    """What a rule about episode actions is given.

    Attributes:
        known: The stored actions of the same episodes by their keys, as far as they matter: those
            with the same keys, and those of the same guids or files that are not superseded.
        last_stamp: The clock of the account's actions.
        now: The wall clock, as a stamp.
        count: Sum of the weights of all actions of the account.
    """

    known: Mapping[bytes, EpisodeAction]
    last_stamp: Stamp
    now: Stamp
    count: int = 0


class ActionDecision(Value, frozen=True):
    """What becomes of the actions of an account.

    Attributes:
        saved: The actions to save, which are new or changed.
        last_stamp: The clock of actions after that.
        removed: Stored actions to remove before; a saved action may take over what they said.
        added: Weight by which the actions of the account grow.
        sent_until: The stamp of the last one that was sent, if others have got stamps after it.
    """

    saved: Sequence[EpisodeAction]
    last_stamp: Stamp
    sent_until: Stamp | None = None
    removed: Sequence[EpisodeAction] = ()
    added: int = 0


class Recorded(Value, frozen=True):
    """From where to where an upload of episode actions moved the clock of actions.

    Attributes:
        began: Where it stood before.
        ended: Where it stands now.
        added: Weight by which the actions of the account grew.
        sent_until: Where it stood before the first action that the app has not sent itself got a
            stamp; None if there is none.
    """

    began: Stamp
    ended: Stamp
    added: int = 0
    sent_until: Stamp | None = None


class ActionRequest(Value, frozen=True):
    """Which episode actions are wanted, by rising revision.

    Attributes:
        first: The smallest revision.
        podcast_guid: If it is not None, only actions of this podcast are wanted.
        limit: The maximum number of actions.
        last: The greatest revision.
        with_superseded: Whether superseded actions are wanted, too.
    """

    first: Stamp
    podcast_guid: Guid | None
    limit: int
    last: Stamp = Stamp(2**63 - 1)
    with_superseded: bool = False
