"""What tells one app of an account from another: its device, its sign-in and its product. Pure.

Kasts, CPod and cliamp ask for the device of every other app, each with its own credential: so the
device alone does not tell which app asks. Nor does a session: AntennaPod begins one with each sync,
and Kasts sends name and password with each request.
"""

from __future__ import annotations

import re
from functools import lru_cache

from feedkeep.model import Admitted, Author, CredentialKind, TokenId, Value
from feedkeep.rules.credentials import as_label

_VERSION = re.compile(r"(?<![A-Za-z0-9])[vV]?[0-9][^\s;,()]*")
_MAX_CHARACTERS = 200
_OF_NO_APP = {CredentialKind.BROWSER, CredentialKind.COMMAND, CredentialKind.FEEDKEEP}


class App(Value, frozen=True):
    """An app, as far as its requests tell it from the others of its account.

    Two installations of one product with one sign-in, of which one names the device of the other,
    are one app here.

    Attributes:
        device: The id of the device that the request names; "" if it names none.
        sign_in: The number of the app password, or of another token, that began all its sessions;
            None for the account's own password.
        product: What the app calls itself, without version numbers: an update changes no app.
    """

    device: str
    sign_in: TokenId | None
    product: str

    @property
    def key(self) -> str:
        """A text that no other app of the account has."""
        sign_in = "password" if self.sign_in is None else self.sign_in
        return f"app {sign_in} {self.device} {self.product}"


def app_of(admitted: Admitted, device: str) -> App:
    """Return the app that sends a request which names a device."""
    name = admitted.token.label if admitted.token else admitted.user_agent
    return App(device, admitted.sign_in, product_of(name))


def author_key(author: Author) -> str:
    """Return what is the same for all changes of one app, or of one browser."""
    if author.kind in _OF_NO_APP:
        return f"{author.kind} {author.token_id if author.token_id is not None else author.name}"
    # Of a session that a token began, the author has the number of the token.
    sign_in = None if author.kind is CredentialKind.SESSION else author.token_id
    return App(author.device, sign_in, product_of(author.name)).key


def product_of(user_agent: str) -> str:
    """Return a User-Agent, or a label, without version numbers."""
    return _product_of(user_agent[:_MAX_CHARACTERS])


@lru_cache(maxsize=1_000)
def _product_of(user_agent: str) -> str:
    return " ".join(_VERSION.sub("", as_label(user_agent)).split())
