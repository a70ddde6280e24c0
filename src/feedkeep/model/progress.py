"""How far an app knows what changed.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from feedkeep.model.values import Second, Stamp, TokenId, Value


class Clock(Enum):
    """Which clock of an account: its list's, or its episode actions'."""

    SUBSCRIPTIONS = "subscriptions"
    ACTIONS = "actions"


class OwnUpload(Value, frozen=True):
    """What an app itself has changed: everything with a stamp after `began`, up to `ended`.

    Attributes:
        device: The id of the device that the app named; "" if it named none.
        known: The second up to which it had been sent all changes.
        began: The account's clock before the upload.
        ended: The account's clock after it.
    """

    device: str
    known: Second
    began: Stamp
    ended: Stamp


class SyncProgress(Value, frozen=True):
    """How far an app knows what changed, in whole seconds.

    Attributes:
        last_sent: The second up to which it was last sent all changes; None if it never asked. That
            reply may have been lost.
        acknowledged: The second up to which it is known to have received them; None if not even one
            reply is known to have arrived.
        own_uploads: What it sent last, oldest first: that need not be sent back to it.
        is_alone: Whether no other app can have been sent, or have sent, any of that.
    """

    last_sent: Second | None = None
    acknowledged: Second | None = None
    own_uploads: Sequence[OwnUpload] = ()
    is_alone: bool = False


class TokenProgress(Value, frozen=True):
    """How far the app that has a token knows what changed, to be stored with the token."""

    token_id: TokenId
    clock: Clock
    progress: SyncProgress
