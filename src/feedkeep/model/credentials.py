"""Stored secrets, clients that authenticate with them, and password attempts."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from enum import Enum, StrEnum
from typing import ClassVar

from feedkeep.model.accounts import Account
from feedkeep.model.entries import View
from feedkeep.model.progress import OwnUpload
from feedkeep.model.values import AccountId, Second, Stamp, TokenId, Value


class Purpose(StrEnum):
    """The use of a stored secret; a secret works for no other purpose.

    Attributes:
        APPS: Tokens and sessions with which apps access the list.
        PAGES: Sessions of browsers, which open the pages.
        INVITATION: Links for creating an account; they belong to the administrator who made them.
        RESET: Links with which an owner sets a new password.
        RECOVERY: Codes with which an owner sets a new password without the help of another person.
    """

    APPS = "apps"
    PAGES = "pages"
    INVITATION = "invitation"
    RESET = "reset"
    RECOVERY = "recovery"


class Scope(StrEnum):
    """Permissions of a credential on its account.

    Attributes:
        WRITE: Reading and changing everything.
        READ: Reading only.
    """

    WRITE = "write"
    READ = "read"


class Token(Value, frozen=True):
    """A stored secret, without its text: a token, a session, a link or a code.

    Attributes:
        id: Its number within its account.
        hash: SHA-256 of its text.
        label: Label chosen by its owner.
        expires: Expiry; None means never.
        revoked: Time of its revocation; None if it was not revoked.
        is_session: Whether it is a session, whose text is a cookie. Otherwise its purpose says
            whether it is a token, an invitation, a link or a code.
        is_shared: Whether this session is shared by all clients that send the same password or
            token and no cookie. A client that returns its cookie gets its own session.
        of_token: Number of the token that was sent in place of a password when this session began;
            the session ends with that token. None if it was the password.
        is_granted: Whether exactly one app has it, which fetched it by Nextcloud's login flow.
        scope: Its permissions; a session has the scope of the token that began it.
        last_used: Beginning of the minute of its last use; None if it was never used.
        last_sent_subscriptions: Second up to which its app was last sent all changes of the list;
            None if it never requested them.
        acknowledged_subscriptions: Second up to which the app certainly received them.
        last_sent_actions: As `last_sent_subscriptions`, for episode actions.
        acknowledged_actions: As `acknowledged_subscriptions`, for episode actions.
        own_subscriptions: Its app's last uploads to the list, oldest first.
        own_actions: As `own_subscriptions`, for episode actions.
    """

    id: TokenId
    hash: bytes
    label: str
    created: Stamp
    expires: Stamp | None = None
    revoked: Stamp | None = None
    is_session: bool = False
    is_shared: bool = False
    of_token: TokenId | None = None
    is_granted: bool = False
    purpose: Purpose = Purpose.APPS
    scope: Scope = Scope.WRITE
    last_used: Stamp | None = None
    last_sent_subscriptions: Second | None = None
    acknowledged_subscriptions: Second | None = None
    last_sent_actions: Second | None = None
    acknowledged_actions: Second | None = None
    own_subscriptions: Sequence[OwnUpload] = ()
    own_actions: Sequence[OwnUpload] = ()

    hidden: ClassVar[frozenset[str]] = frozenset({"hash"})


class TokenDecision(Value, frozen=True):
    """A rule's changes to an account's secrets of one purpose.

    Attributes:
        added: New secrets; the store numbers them.
        forgotten: Numbers of the secrets to delete; a secret of another purpose stays.
        password_hash: Hash of the account's new password; None to keep the present one.
    """

    added: Sequence[Token] = ()
    forgotten: Sequence[TokenId] = ()
    password_hash: str | None = None

    hidden: ClassVar[frozenset[str]] = frozenset({"password_hash"})


class TokensChanged(Value, frozen=True):
    """An account after a change of its secrets.

    Attributes:
        added: The new secrets with their numbers, in the order of the decision.
    """

    account: Account
    added: Sequence[Token]


class NewToken(Value, frozen=True):
    """A newly created secret.

    Attributes:
        text: Its text, which is not stored.
    """

    text: str
    token: Token

    hidden: ClassVar[frozenset[str]] = frozenset({"text"})


class Found(Value, frozen=True):
    """The result of looking up a token, all read at one moment.

    Attributes:
        view: The entry requested in the same query; None if missing or not requested.
        document: The body of the requested document; None if missing or not requested.
    """

    account: Account
    token: Token
    view: View | None = None
    document: str | None = None


class CredentialKind(StrEnum):
    """The kind of a request's credential, as the log names it.

    Changes that feedkeep makes by itself have `FEEDKEEP`.
    """

    TOKEN = "token"  # noqa: S105 - a name of it
    SESSION = "session"
    BROWSER = "browser"
    PASSWORD = "password"  # noqa: S105 - as above
    COMMAND = "command"
    FEEDKEEP = "feedkeep"
    NONE = "none or malformed"


class Author(Value, frozen=True):
    """The author of a change of a list, and the request that made it.

    Attributes:
        kind: Kind of the credential; `TOKEN` for a session that a token began.
        token_id: Number of that token, or of the session; None for a password.
        name: Label of the token or session at that time, or the app's name for itself.
        device: Id of the device that an app named; "" if it named none.
        request: Id of the request in the log; a command has an id of its own.
    """

    kind: CredentialKind
    token_id: TokenId | None = None
    name: str = ""
    device: str = ""
    request: str = ""


class NotLookedUp(Enum):
    """Marks a value that was not looked up, so that it is unknown whether it exists."""

    NOT_LOOKED_UP = "not looked up"


class Admitted(Value, frozen=True):
    """An authenticated client.

    Attributes:
        view: The entry that was looked up together with the credential; None if it does not exist.
        token: The token or session that was sent; None for a password and for a shared session.
        scope: Permissions of the credential.
        sign_in: Number of the token that was sent or that began the session; None if that was the
            account's password.
        user_agent: The client's name for itself, unless a token's label has it.
        document: The body of the document of a cookieless app (`cookieless.document_of`) that was
            looked up together with the credential; None if it does not exist.
    """

    account: Account
    credential_kind: CredentialKind
    view: View | NotLookedUp | None = NotLookedUp.NOT_LOOKED_UP
    token: Token | None = None
    scope: Scope = Scope.WRITE
    sign_in: TokenId | None = None
    user_agent: str = ""
    document: str | NotLookedUp | None = NotLookedUp.NOT_LOOKED_UP

    @property
    def is_read_only(self) -> bool:
        return self.scope is Scope.READ


class Grant(Value, frozen=True):
    """An owner's permission for the app that began a login of Nextcloud.

    Attributes:
        login: SHA-256 of the secret that only that app has.
        label: The app's name for itself.
        created: Time of the permission.
    """

    login: bytes
    account_id: AccountId
    label: str
    created: Stamp


class CountedAttempts(Value, frozen=True):
    """The attempts that a process has counted for a name, an address or both.

    Attributes:
        key: Digest of the name, the address or both.
        process: A random number that identifies the process.
        seconds: Times of the attempts, in whole seconds since 1970-01-01T00:00:00Z.
    """

    key: bytes
    process: int
    seconds: array[int]
