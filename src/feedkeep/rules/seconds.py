"""Whole seconds for apps that know no finer time, without losing changes. Pure.

docs/gpodder.md explains it. An account's clock counts microseconds. An app that requests changes is
given a second T with the reply, and next requests changes since T, or since T + 1. So after that
reply no change may get a stamp before the second T + 1, and no change in the reply may have a stamp
in T or later. A clock that guarantees this is *settled*: it is at the last microsecond of T, and
all later stamps come after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import OwnUpload, Second, Stamp, SyncProgress, replace

FROM_NOTHING = Second(0)
"""The `since` of an app that has nothing yet; never given by a reply."""

EVERYTHING = Second(1)
"""The timestamp for an app that may have missed any change.

It is not 0: an app that asks since 0 starts from nothing, and is sent no removals.
"""

NOTHING = SyncProgress()
"""The progress of an unknown app."""

MAX_OWN_UPLOADS = 16
"""Maximum number of stored uploads of an app, each separated by changes of others."""

_SECOND = 1_000_000


def is_settled(clock: Stamp) -> bool:
    """Whether a clock is at the last microsecond of a second."""
    return clock % _SECOND == _SECOND - 1


def settled(clock: Stamp) -> Stamp:
    """Return the settled clock from which an app can be given the second of the last stamp."""
    return clock if is_settled(clock) else Stamp((clock // _SECOND + 2) * _SECOND - 1)


def second_of(stamp: Stamp) -> Second:
    """Return the second of a stamp; for a settled clock, the second to give to apps."""
    return Second(stamp // _SECOND)


def first_stamp(second: Second) -> Stamp:
    return Stamp(second * _SECOND)


def first_second(since: Second, newest: Second, app: SyncProgress) -> Second:
    """Return the second since which an app must be sent all changes.

    `newest` is the second of the present reply. An app can ask with a `since` that it never got
    from here: the time of its upload, or of its own clock. Then it is sent all changes after the
    last reply that it certainly received. If nothing is known of it, it is sent everything if
    `since` is after `newest + 1`, since no reply has given such a second.
    """
    if app.last_sent is not None and app.last_sent > newest:
        return EVERYTHING  # it was sent a second of a clock that was set back since
    if app.last_sent is None:
        # Plus one: Kasts asks since the second after the one it was sent.
        return since if since <= newest + 1 else EVERYTHING
    if has_acknowledged(since, app):
        return since
    # After an upload, AntennaPod with Nextcloud asks since the phone's time. That is later than
    # changes that others made between its poll and its upload.
    return min(since, Second((app.acknowledged or FROM_NOTHING) + 1))


def has_acknowledged(since: Second, app: SyncProgress) -> bool:
    """Whether `since` shows that the app received the last reply."""
    # gPodder and AntennaPod ask since the second that they were sent, Kasts since the next one.
    return app.last_sent is not None and since in {app.last_sent, app.last_sent + 1}


def after_reply(since: Second, newest: Second, app: SyncProgress) -> SyncProgress:
    """Return an app's sync progress after a reply with the timestamp `newest`.

    It is unchanged if the app already had that timestamp.
    """
    if newest == app.last_sent:
        return app
    is_acknowledged = has_acknowledged(since, app)
    # PinePods can have it from its own clock: its next request does not show whether it received
    # this reply, so that is sent again until the clock moves on.
    if app.last_sent is not None and not is_acknowledged and since in {newest, newest + 1}:
        return app
    return replace(
        app,
        last_sent=newest,
        acknowledged=app.last_sent if is_acknowledged else app.acknowledged,
    )


def knows_all(app: SyncProgress, clock: Stamp) -> bool:
    """Whether an app was sent all changes up to the clock's present value."""
    # Two phones may share a token: what one of them was sent says nothing about the other.
    return app.is_alone and is_settled(clock) and second_of(clock) == app.last_sent


def clock_after_upload(app: SyncProgress, began: Stamp, ended: Stamp) -> Stamp:
    """Return the clock after an upload that moved it from `began` to `ended`.

    If no other client changed anything since the app's last poll, the clock is settled at once, so
    that the app knows everything up to there and can continue after its own upload.
    """
    return settled(ended) if ended > began and knows_all(app, began) else ended


def after_upload(
    app: SyncProgress, device: str, began: Stamp, ended: Stamp, sent_until: Stamp | None = None
) -> SyncProgress:
    """Return an app's sync progress after an upload that moved the clock from `began` to `ended`.

    If it also caused changes that the app did not send, `sent_until` is the end of the app's own.
    Apps upload only after they received the reply to their poll, and need not be sent their own
    upload.
    """
    # AntennaPod asks next since the timestamp of its upload. The present second would make it miss
    # changes that others made since its poll; so it gets a later one only if there are none.
    is_all_known = sent_until is None and knows_all(app, began)
    last_sent = second_of(ended) if is_all_known else app.last_sent
    known = second_of(began) if app.last_sent is None else app.last_sent
    own_uploads = (
        _with(app.own_uploads, OwnUpload(device, known, began, sent_until or ended))
        if ended > began
        else app.own_uploads
    )
    return replace(app, last_sent=last_sent, acknowledged=last_sent, own_uploads=own_uploads)


def is_own(app: SyncProgress, device: str, since: Second, stamp: Stamp) -> bool:
    """Whether a change came from an app itself, and was not changed again since.

    No two changes of an account share a stamp. An app that asks since a second before its own
    upload has lost it, as after a phone's restore from a backup. Apps that share a session or token
    are distinguished by their devices, if they send them.
    """
    # AntennaPod would overwrite later plays with its own older action, and gPodder would offer to
    # add again what its owner has just removed.
    can_tell = app.is_alone or device != ""
    return can_tell and any(
        own.device == device and own.known <= since and own.began < stamp <= own.ended
        for own in app.own_uploads
    )


def _with(known: Sequence[OwnUpload], own: OwnUpload) -> Sequence[OwnUpload]:
    """Add an upload; consecutive uploads count as one.

    AntennaPod uploads its actions thirty at a time.
    """
    if known and (known[-1].device, known[-1].ended) == (own.device, own.began):
        return (*known[:-1], replace(known[-1], ended=own.ended))
    return (*known[1 - MAX_OWN_UPLOADS :], own)
