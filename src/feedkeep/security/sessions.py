"""The session shared by all clients that send the same secret and no cookie."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

from feedkeep.model import AccountId, CredentialKind, DocumentName, Value

MAX_REMEMBERED = 10_000
"""How many sessions are remembered; beyond that, the one unused for longest is forgotten."""


class SharedSession(Value, frozen=True):
    """A session that was begun for a secret.

    Attributes:
        account_id: Whose it is.
        credential_kind: What kind of secret it is.
        text: The session itself, which is the cookie.
        hash: What is stored of it.
        document: Where it is stored how far its client knows what changed.
    """

    account_id: AccountId
    credential_kind: CredentialKind
    text: str
    hash: bytes
    document: DocumentName

    hidden: ClassVar[frozenset[str]] = frozenset({"text", "hash"})


class SharedSessions:
    """Remembers sessions by the secret that was sent, as a keyed hash, in this process only.

    Kasts keeps no cookies and sends the password with each request. A new session for each would be
    a durable write for each.

    A remembered session by itself grants no access. The store is asked each time whether it is
    still valid; it ends together with the password or the token (contract, section 2).
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._remembered: OrderedDict[bytes, SharedSession] = OrderedDict()
        self._beginning: dict[bytes, asyncio.Future[SharedSession]] = {}

    def mark(self, shown: str, label: str) -> bytes:
        """Return the mark of a header with a secret and of the app that sends it: a keyed hash."""
        message = f"{len(shown)} {shown}{label}"
        return hashlib.blake2b(message.encode(), key=self._key, digest_size=32).digest()

    def find(self, mark: bytes) -> SharedSession | None:
        """Return the newest session of a mark."""
        found = self._remembered.get(mark)
        if found is not None:
            self._remembered.move_to_end(mark)
        return found

    def forget(self, mark: bytes, ended: SharedSession) -> None:
        """Forget a session that has ended, unless there is a newer one already."""
        if self._remembered.get(mark) is ended:
            del self._remembered[mark]

    async def begun(
        self, mark: bytes, begin: Callable[[], Coroutine[Any, Any, SharedSession]]
    ) -> SharedSession:
        """Return the session of a client that was let in; requests at the same time share one.

        Raises what `begin` raises.
        """
        found = self.find(mark)
        if found is not None:
            return found
        beginning = self._beginning.get(mark)
        if beginning is None:
            beginning = asyncio.ensure_future(self._begin(mark, begin))
            self._beginning[mark] = beginning
            beginning.add_done_callback(lambda _: self._beginning.pop(mark))
        return await asyncio.shield(beginning)

    async def _begin(
        self, mark: bytes, begin: Callable[[], Coroutine[Any, Any, SharedSession]]
    ) -> SharedSession:
        session = self._remembered[mark] = await begin()
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)
        return session
