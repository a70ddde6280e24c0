"""Links with a secret in them: it is taken out of the address as soon as the link is opened."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from feedkeep.http.cookies import Cookie, expire_cookie, read_cookie, set_cookie
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.requests import Request

_MAX_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Link:
    """A kind of link.

    With the secret in the address of a page, it would be in the browser's history, in the logs of
    proxies with each form, and in the Referer of each file of the page.

    Attributes:
        cookie: The cookie that holds the secret from then on.
        place: The page that the link leads to.
    """

    cookie: Cookie
    place: str

    def open(self, pages: Pages, request: Request) -> Response:
        """Answer to the link itself."""
        text = request.parameters["link"][:_MAX_CHARACTERS]
        response = pages.leading_to(self.place)
        # Only what our own links are made of may stand in a header.
        safe = "".join(
            letter for letter in text if letter.isascii() and (letter.isalnum() or letter in "_-")
        )
        response.headers.append("set-cookie", set_cookie(request, self.cookie, safe))
        return response

    def text(self, request: Request) -> str:
        """Return the secret of the link that a browser opened last; "" if there is none."""
        return read_cookie(request, self.cookie)[:_MAX_CHARACTERS]

    def forget(self, request: Request) -> str:
        """Return the Set-Cookie header that ends it."""
        return expire_cookie(request, self.cookie)
