"""Links with a secret, which moves into a cookie when the link is opened."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from feedkeep.http.cookies import Cookie, expire_cookie, read_cookie, set_cookie
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.requests import Request

_MAX_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Link:
    """A kind of link with a secret.

    In a page's address, the secret would get into the browser's history, proxies' logs of each
    form, and the Referer of the page's files.

    Attributes:
        cookie: Cookie that holds the secret after the link was opened.
        place: Path of the page to redirect to.
    """

    cookie: Cookie
    place: str

    def open(self, pages: Pages, request: Request) -> Response:
        """Move the secret into the cookie, and redirect."""
        text = request.parameters["link"][:_MAX_CHARACTERS]
        response = pages.redirect(self.place)
        # The text goes into a header: keep only characters of our own links.
        safe = "".join(
            letter for letter in text if letter.isascii() and (letter.isalnum() or letter in "_-")
        )
        response.headers.append("set-cookie", set_cookie(request, self.cookie, safe))
        return response

    def text(self, request: Request) -> str:
        """Return the secret of the link opened last; "" without one."""
        return read_cookie(request, self.cookie)[:_MAX_CHARACTERS]

    def forget(self, request: Request) -> str:
        """Return the Set-Cookie header that expires the cookie."""
        return expire_cookie(request, self.cookie)
