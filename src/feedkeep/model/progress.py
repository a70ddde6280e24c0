"""Sync progress of apps."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from feedkeep.model.values import Second, Stamp, TokenId, Value


class Clock(Enum):
    """A clock of an account: of its list, or of its episode actions."""

    SUBSCRIPTIONS = "subscriptions"
    ACTIONS = "actions"


class OwnUpload(Value, frozen=True):
    """An app's own changes: all changes with a stamp after `began`, up to `ended`.

    Attributes:
        device: Id of the device that the app named; "" if it named none.
        known: Second up to which the app had been sent all changes.
        began: The account's clock before the upload.
        ended: The account's clock after it.
    """

    device: str
    known: Second
    began: Stamp
    ended: Stamp


class SyncProgress(Value, frozen=True):
    """Sync progress of an app, in whole seconds.

    Attributes:
        last_sent: Second up to which it was last sent all changes; None if it never requested them.
            That reply may have been lost.
        acknowledged: Second up to which it certainly received them; None if no reply is known to
            have arrived.
        own_uploads: Its last uploads, oldest first, which need not be sent back to it.
        is_alone: Whether no other app can have been sent, or have sent, any of that.
    """

    last_sent: Second | None = None
    acknowledged: Second | None = None
    own_uploads: Sequence[OwnUpload] = ()
    is_alone: bool = False


class TokenProgress(Value, frozen=True):
    """Sync progress of the app that has a token, to be stored with the token."""

    token_id: TokenId
    clock: Clock
    progress: SyncProgress
