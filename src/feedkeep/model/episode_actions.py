"""Episode actions: what apps did with episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from feedkeep.model.values import Guid, Second, Stamp, Value

EPISODE_KEY_BYTES = 10
"""Length of the prefix of `EpisodeAction.key` that identifies the episode."""

FINISHED_SECONDS = 30
"""Length of an episode's end that may be missing from a finished play: AntennaPod's default.

The index `episode_action_by_time` contains it, too.
"""


class EpisodeAction(Value, frozen=True):
    """The latest action of one kind with an episode on a device.

    Attributes:
        key: 16 bytes that identify it in its account: ten for the podcast and the episode's guid
            (its URL if no guid was sent), and six for device and kind.
        file: The ten bytes of a key for the podcast and the URL of the episode.
        podcast_guid: The derived guid of the podcast's URL.
        podcast: The podcast's feed URL, as it was sent.
        episode: The URL of the episode's file, as it was sent last.
        device: Id of the device; "" if none was sent.
        kind: Kind of action, such as "play".
        done: Time of the action by the device's own clock, in seconds since 1970.
        started: Position in seconds at which playing began; None if it was not sent.
        position: Position in seconds at which playing ended; None if it was not sent.
        total: The episode's length in seconds; None if it was not sent.
        episode_guid: The guid that the feed gives the episode; None if it was not sent.
        revision: Stamp under which it is sent to apps; it can get a new one.
        received: Time of receipt, by the server's clock.
        app: Name of the app that sent it; None if unknown.
        is_superseded: Whether apps are not sent it, since a newer play of the episode is stored:
            true of a play on any device, and of a deletion that is older than that play.
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
    app: str | None = None
    is_superseded: bool = False


class ActionSnapshot(Value, frozen=True):
    """The input of a rule about episode actions.

    Attributes:
        known: The relevant stored actions of the same episodes, by their keys: all with the same
            keys, and the actions of the same guids or files that are not superseded.
        last_stamp: The clock of the account's actions.
        now: The wall clock, as a stamp.
        count: Sum of the weights of all actions of the account.
    """

    known: Mapping[bytes, EpisodeAction]
    last_stamp: Stamp
    now: Stamp
    count: int = 0


class ActionDecision(Value, frozen=True):
    """A rule's changes to the episode actions of an account.

    Attributes:
        saved: New or changed actions.
        last_stamp: The clock of actions after the changes.
        removed: Stored actions to remove before saving; a saved action may take over their content.
        added: Weight by which the actions of the account grow.
        sent_until: Stamp of the last action that the app sent, if others got stamps after it.
    """

    saved: Sequence[EpisodeAction]
    last_stamp: Stamp
    sent_until: Stamp | None = None
    removed: Sequence[EpisodeAction] = ()
    added: int = 0


class Recorded(Value, frozen=True):
    """The range of stamps that an upload of episode actions used.

    Attributes:
        began: The clock of actions before the upload.
        ended: The clock of actions after it.
        added: Weight by which the actions of the account grew.
        sent_until: The clock before the first action that was not sent by the app itself; None if
            there is no such action.
    """

    began: Stamp
    ended: Stamp
    added: int = 0
    sent_until: Stamp | None = None


class ActionRequest(Value, frozen=True):
    """A request for episode actions, by rising revision.

    Attributes:
        first: The smallest revision.
        podcast_guid: Only actions of this podcast; None for all.
        limit: Maximum number of actions.
        last: The greatest revision.
        with_superseded: Whether to include superseded actions.
    """

    first: Stamp
    podcast_guid: Guid | None
    limit: int
    last: Stamp = Stamp(2**63 - 1)
    with_superseded: bool = False


class PlayRequest(Value, frozen=True):
    """A request for the newest plays of episodes, latest first.

    Attributes:
        is_finished: Only plays of finished episodes, or only of others; None for all.
        before: Time and revision of the play after which the page begins; None for the latest.
        limit: Maximum number of plays.
    """

    is_finished: bool | None
    before: tuple[Second, Stamp] | None
    limit: int
