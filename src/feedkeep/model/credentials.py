"""Stored secrets, and who is let in with them.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, StrEnum
from typing import ClassVar

from feedkeep.model.accounts import Account
from feedkeep.model.entries import View
from feedkeep.model.progress import OwnUpload
from feedkeep.model.values import AccountId, Second, Stamp, TokenId, Value


class Purpose(StrEnum):
    """What a stored secret is for; a secret of one purpose never works for another.

    Attributes:
        APPS: Tokens and sessions, which let apps in to the list.
        PAGES: Sessions of browsers, which open the pages.
        INVITATION: Links with which a person creates an account; they belong to the administrator
            who made them.
        RESET: Links with which an owner sets a new password.
        RECOVERY: Codes with which an owner sets a new password without the help of another person.
    """

    APPS = "apps"
    PAGES = "pages"
    INVITATION = "invitation"
    RESET = "reset"
    RECOVERY = "recovery"


class Scope(StrEnum):
    """What a credential may do with what belongs to its account.

    Attributes:
        WRITE: Read and change everything.
        READ: Only read.
    """

    WRITE = "write"
    READ = "read"


class Token(Value, frozen=True):
    """A secret as it is stored: a token, a session, a link or a code; never its text.

    Attributes:
        id: Its number within its account.
        hash: SHA-256 of its text.
        label: What its owner calls it.
        created: When it was created.
        expires: When it stops working; None if never.
        revoked: When it was revoked; None if it was not.
        is_session: Whether it is a session, whose text is a cookie; otherwise it is what its
            purpose says: a token, an invitation, a link or a code.
        is_shared: Whether all clients that send the same password or token, and no cookie, share
            this session. A client that sends its cookie back is given a session of its own.
        of_token: The number of the token that was sent in place of a password when this session
            began: the session ends with that token. None if it was the password.
        is_granted: Whether exactly one app has it, since it was fetched by a login of Nextcloud.
        purpose: What it is for.
        scope: What it may do; a session may do what the token may that began it.
        last_used: The beginning of the minute of its last use; None if it was never used.
        last_sent_subscriptions: The second up to which its app was last sent all changes of the
            list; None if it never asked.
        acknowledged_subscriptions: The second up to which it is known to have received them.
        last_sent_actions: As `last_sent_subscriptions`, of episode actions.
        acknowledged_actions: As `acknowledged_subscriptions`, of episode actions.
        own_subscriptions: What its app uploaded last to the list, oldest first.
        own_actions: As `own_subscriptions`, of episode actions.
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
    """What a rule makes of an account's secrets of one purpose.

    Attributes:
        added: New ones; the store numbers them.
        forgotten: The numbers of those to delete; a secret of another purpose stays.
        password_hash: The hash of the account's new password; None to leave it as it is.
    """

    added: Sequence[Token] = ()
    forgotten: Sequence[TokenId] = ()
    password_hash: str | None = None

    hidden: ClassVar[frozenset[str]] = frozenset({"password_hash"})


class TokensChanged(Value, frozen=True):
    """What became of an account and its secrets.

    Attributes:
        account: The account as it is now.
        added: The new secrets with their numbers, in the order in which they were decided.
    """

    account: Account
    added: Sequence[Token]


class NewToken(Value, frozen=True):
    """A secret that was created just now.

    Attributes:
        text: Its text, which is stored nowhere.
        token: What is stored of it.
    """

    text: str
    token: Token

    hidden: ClassVar[frozenset[str]] = frozenset({"text"})


class Found(Value, frozen=True):
    """What a token leads to, all as it is at one moment.

    Attributes:
        account: The account that it belongs to.
        token: What is stored of it.
        view: The entry that was asked for in the same query; None if there is no such entry, or if
            none was asked for.
        document: The body of the document that was asked for; None if there is no such document, or
            if none was asked for.
    """

    account: Account
    token: Token
    view: View | None = None
    document: str | None = None


class CredentialKind(StrEnum):
    """The kind of credential that a request came with, as the log calls it.

    What feedkeep did by itself came with `FEEDKEEP`.
    """

    TOKEN = "token"  # noqa: S105 - a name of it
    SESSION = "session"
    BROWSER = "browser"
    PASSWORD = "password"  # noqa: S105 - as above
    COMMAND = "command"
    FEEDKEEP = "feedkeep"
    NONE = "none or malformed"


class Author(Value, frozen=True):
    """Who changed a list, and with which request.

    Attributes:
        kind: The kind of credential that let them in; of a session that a token began, `TOKEN`.
        token_id: The number of that token, or of the session; None for a password.
        name: What their token or session was called then, or what the app calls itself.
        device: The id of the device that an app named; "" if it named none.
        request: The id of the request, as the log has it; of a command, one of its own.
    """

    kind: CredentialKind
    token_id: TokenId | None = None
    name: str = ""
    device: str = ""
    request: str = ""


class NotLookedUp(Enum):
    """Stands for what was not looked up: whether it exists is not known."""

    NOT_LOOKED_UP = "not looked up"


class Admitted(Value, frozen=True):
    """Who sent a request, once the credential was accepted.

    Attributes:
        account: The account that the credential belongs to.
        credential_kind: The kind of the credential.
        view: The entry that was looked up together with the credential; None if it does not exist.
        token: The token or session that was sent; None for a password and for a shared session.
        scope: What the credential may do.
        sign_in: The number of the token that was sent, or that began the session; None if that was
            the account's password.
        user_agent: What the client calls itself, where there is no token that is called so.
        document: The body of the document of an app without cookies (`cookieless.document_of`) that
            was looked up together with the credential; None if it does not exist.
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
        """Whether the credential may change nothing."""
        return self.scope is Scope.READ


class Grant(Value, frozen=True):
    """That an account's owner has let in the app that began a login of Nextcloud.

    Attributes:
        login: SHA-256 of the secret that only that app knows.
        account_id: The account.
        label: What the app calls itself.
        created: When it was granted.
    """

    login: bytes
    account_id: AccountId
    label: str
    created: Stamp
