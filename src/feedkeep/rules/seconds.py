"""Whole seconds for apps that know no finer time, so that no change is lost. Pure.

docs/gpodder.md explains it. An account's clock counts microseconds. An app that asks for changes is
given a second T with the reply, and next asks for changes since T, or since T + 1. So after that
reply no change may get a stamp before the second T + 1, and no change in the reply may have a stamp
in T or later. A clock that guarantees this is *settled*: it stands on the last microsecond of T,
and all later stamps come after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import OwnUpload, Second, Stamp, SyncProgress, replace

FROM_NOTHING = Second(0)
"""The `since` of an app that has nothing yet; no reply ever gives it."""

EVERYTHING = Second(1)
"""The timestamp for an app that may have missed any change.

It is not 0: an app that asks since 0 starts from nothing, and is sent no removals.
"""

NOTHING = SyncProgress()
"""What is known of an app that is unknown."""

MAX_OWN_UPLOADS = 16
"""The maximum number of uploads of an app that are remembered, with changes by others between."""

_SECOND = 1_000_000


def is_settled(clock: Stamp) -> bool:
    """Say whether a clock stands on the last microsecond of a second."""
    return clock % _SECOND == _SECOND - 1


def settled(clock: Stamp) -> Stamp:
    """Return where to set a clock before the second after its last stamp is given to an app."""
    return clock if is_settled(clock) else Stamp((clock // _SECOND + 2) * _SECOND - 1)


def second_of(stamp: Stamp) -> Second:
    """Return the second of a stamp; of a settled clock, this is the one to give to apps."""
    return Second(stamp // _SECOND)


def first_stamp(second: Second) -> Stamp:
    """Return the first stamp of a second."""
    return Stamp(second * _SECOND)


def first_second(since: Second, newest: Second, app: SyncProgress) -> Second:
    """Return the second since which an app has to be sent all changes.

    `newest` is the second of the present reply. An app can ask with a `since` that it never got
    from here: the time of its upload, or of its own clock. Then it is sent all changes after the
    last reply that it surely got. If nothing is known of it, it is sent everything, as no reply has
    given a second after `newest + 1`.
    """
    if app.last_sent is not None and app.last_sent > newest:
        return EVERYTHING  # it was sent a second of a clock that was set back since
    if app.last_sent is None:
        # Plus one, since Kasts asks since the second after the one it was sent.
        return since if since <= newest + 1 else EVERYTHING
    if has_acknowledged(since, app):
        return since
    # After an upload, AntennaPod with Nextcloud asks since the time of the phone's clock. That is
    # later than what others changed between its poll and its upload.
    return min(since, Second((app.acknowledged or FROM_NOTHING) + 1))


def has_acknowledged(since: Second, app: SyncProgress) -> bool:
    """Say whether `since` shows that the app got the last reply."""
    # gPodder and AntennaPod ask since the second that they were sent, Kasts since the next one.
    return app.last_sent is not None and since in {app.last_sent, app.last_sent + 1}


def after_reply(since: Second, newest: Second, app: SyncProgress) -> SyncProgress:
    """Return what is known of an app after a reply that gives it the second `newest`.

    If it had that second already, there is nothing new to store.
    """
    if newest == app.last_sent:
        return app
    return replace(
        app,
        last_sent=newest,
        acknowledged=app.last_sent if has_acknowledged(since, app) else app.acknowledged,
    )


def knows_all(app: SyncProgress, clock: Stamp) -> bool:
    """Say whether an app was sent all changes up to the present stand of a clock."""
    # Two phones may share a token: what one of them was sent says nothing about the other.
    return app.is_alone and is_settled(clock) and second_of(clock) == app.last_sent


def clock_after_upload(app: SyncProgress, began: Stamp, ended: Stamp) -> Stamp:
    """Return where a clock has to stand after an upload that took it from `began` to `ended`.

    If no other client changed anything since the app's last poll, the clock is settled at once.
    Then the app knows everything up to there, and can go on from after its own upload.
    """
    return settled(ended) if ended > began and knows_all(app, began) else ended


def after_upload(
    app: SyncProgress, device: str, began: Stamp, ended: Stamp, sent_until: Stamp | None = None
) -> SyncProgress:
    """Return what is known of an app after an upload that took the clock from `began` to `ended`.

    If not everything that changed was sent by the app, `sent_until` is where that ends. Apps upload
    only after they got the reply to their poll, and need not be sent their own upload.
    """
    # AntennaPod asks next since the timestamp of its upload. The present second would make it miss
    # what others changed since its poll; so it gets a later one only if no other client changed
    # anything.
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
    """Say whether a change came from an app itself, and was not changed again since.

    No two changes of an account share a stamp. An app that asks since a second before its own
    upload has forgotten it, as a phone does that was restored from a backup. Where several apps
    share a session or token, they are distinguished by their devices, if they send them.
    """
    # AntennaPod would overwrite what was played since with its own older action, and gPodder would
    # offer to add again what its owner has just removed.
    can_tell = app.is_alone or device != ""
    return can_tell and any(
        own.device == device and own.known <= since and own.began < stamp <= own.ended
        for own in app.own_uploads
    )


def _with(known: Sequence[OwnUpload], own: OwnUpload) -> Sequence[OwnUpload]:
    """Return the last uploads with one more; uploads that follow one another count as one.

    AntennaPod uploads its actions thirty at a time.
    """
    if known and (known[-1].device, known[-1].ended) == (own.device, own.began):
        return (*known[:-1], replace(known[-1], ended=own.ended))
    return (*known[1 - MAX_OWN_UPLOADS :], own)
