"""Whole seconds for apps that know no finer time, so that no change is lost. Pure.

docs/gpodder.md works it out. An account's clock counts microseconds. An app is told a second T when
its list is read, and asks for what changed since T, or since T + 1. So once T was told, no change
may get a stamp before the second T + 1, and none that was read may have one from T on. A clock that
promises that is *settled*: it stands on the last microsecond of T, and every stamp comes after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import OwnUpload, Second, Stamp, Told, replace

FROM_NOTHING = Second(0)
"""What an app asks with that has nothing yet; it is never told."""

EVERYTHING = Second(1)
"""What an app is told that may have missed any change.

It is not 0: an app that asks since 0 starts from nothing, and is sent no removals.
"""

NOTHING = Told()
"""Of an app of which nothing is known."""

MAX_OWN_UPLOADS = 16
"""How many uploads of one app are remembered, between which others changed something."""

_SECOND = 1_000_000


def is_settled(clock: Stamp) -> bool:
    """Say whether a clock stands on the end of a second."""
    return clock % _SECOND == _SECOND - 1


def settled(clock: Stamp) -> Stamp:
    """Return where a clock has to stand for the second after its last stamp to be told."""
    return clock if is_settled(clock) else Stamp((clock // _SECOND + 2) * _SECOND - 1)


def second_of(stamp: Stamp) -> Second:
    """Return the second that a stamp is in; of a settled clock, the one to tell."""
    return Second(stamp // _SECOND)


def first_stamp(second: Second) -> Stamp:
    """Return the first stamp of a second."""
    return Stamp(second * _SECOND)


def first_second(since: Second, newest: Second, app: Told) -> Second:
    """Return the second from which on an app needs to be told what changed.

    `newest` is the second that it is told now. An app can say a `since` that it was never told: the
    time of its upload, or its own clock. Then it is told what came after all that it has heard; or
    everything, if nothing is known of it: no second after `newest + 1` can be ours.
    """
    if app.told is None:
        # Plus one, since Kasts asks since the second after the one it was told.
        return since if since <= newest + 1 else EVERYTHING
    if has_heard(since, app):
        return since
    # After an upload, AntennaPod with Nextcloud asks since the time of the phone's clock. That is
    # later than what others changed between its poll and its upload.
    return min(since, Second((app.heard or FROM_NOTHING) + 1))


def has_heard(since: Second, app: Told) -> bool:
    """Say whether `since` shows that the last reply came."""
    # gPodder and AntennaPod ask since the second that they were told, Kasts since the next one.
    return app.told is not None and since in {app.told, app.told + 1}


def after_reply(since: Second, newest: Second, app: Told) -> Told:
    """Return how far an app knows what changed, once it is told `newest`.

    Where that is no news, nothing has to be remembered.
    """
    if newest == app.told:
        return app
    return replace(app, told=newest, heard=app.told if has_heard(since, app) else app.heard)


def knows_all(app: Told, clock: Stamp) -> bool:
    """Say whether an app was told all that changed up to where a clock stands."""
    # Two phones may share a token: what one of them was told says nothing about the other.
    return app.is_alone and is_settled(clock) and second_of(clock) == app.told


def clock_after_upload(app: Told, began: Stamp, ended: Stamp) -> Stamp:
    """Return where a clock has to stand after an upload that took it from `began` to `ended`.

    If nobody else changed anything since the app was told, it is settled at once: so the app knows
    all up to there, and can go on from after its own upload.
    """
    return settled(ended) if ended > began and knows_all(app, began) else ended


def after_upload(app: Told, device: str, began: Stamp, ended: Stamp) -> Told:
    """Return how far an app knows what changed after an upload that took the clock so far.

    Apps send nothing before they have got what they asked, and need not be told what they sent.
    """
    # AntennaPod asks next since the timestamp of its upload. The present second would make it miss
    # what others changed since its poll; so it gets a later one only if nobody changed anything.
    told = second_of(ended) if knows_all(app, began) else app.told
    known = second_of(began) if app.told is None else app.told
    own = _with(app.own, OwnUpload(device, known, began, ended)) if ended > began else app.own
    return replace(app, told=told, heard=told, own=own)


def is_own(app: Told, device: str, since: Second, stamp: Stamp) -> bool:
    """Say whether a change is what an app sent itself, and nobody has changed since.

    No two changes of an account share a stamp. An app that asks for what changed before it sent
    that has forgotten it: a phone that was restored from a backup. Where several apps share what is
    known, their devices tell them apart, if they say which they are.
    """
    # AntennaPod would overwrite what was played since with its own older action, and gPodder would
    # offer to add again what its owner has just removed.
    can_tell = app.is_alone or device != ""
    return can_tell and any(
        own.device == device and own.known <= since and own.began < stamp <= own.ended
        for own in app.own
    )


def _with(known: Sequence[OwnUpload], own: OwnUpload) -> Sequence[OwnUpload]:
    """Return the last uploads with one more.

    AntennaPod sends its actions thirty at a time; those that follow one another count as one.
    """
    if known and (known[-1].device, known[-1].ended) == (own.device, own.began):
        return (*known[:-1], replace(known[-1], ended=own.ended))
    return (*known[1 - MAX_OWN_UPLOADS :], own)
