"""Asking another server over HTTP as its account, and telling in a sentence what went wrong."""

from __future__ import annotations

import base64
import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from typing import Any

from feedkeep.errors import FeedkeepError

_TIMEOUT_SECONDS = 120.0  # a long history takes gpodder.net a minute
_PAUSES_SECONDS = (1.0, 5.0, 15.0)
_PIECE_BYTES = 65_536
_SHOWN_CHARACTERS = 200
_REDIRECTS = {301, 302, 303, 307, 308}
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY, _FAULT = 401, 403, 404, 429, 500


class RemoteError(FeedkeepError):
    """The other server cannot be asked, or says no; `str()` of it says what to do.

    It can hold what that server said, so it is to be shown as foreign text.
    """


class NotThere(RemoteError):
    """The other server has nothing at a path."""


class Asker:
    """Gets what is at a path of a server, with an account's name and password."""

    def __init__(self, url: str, name: str, password: str) -> None:
        """Ask the server at `url`, which starts with https:// or http://.

        Raises:
            RemoteError: It is no such URL.
        """
        try:
            parts = urllib.parse.urlsplit(url)
            is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
        except ValueError:
            is_address = False
        if not is_address:
            raise RemoteError("The address has to be like https://gpodder.net.")
        self._base = url.rstrip("/")
        self._login = f"/api/2/auth/{urllib.parse.quote(name, safe='')}/login.json"
        credential = base64.b64encode(f"{name}:{password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {credential}", "User-Agent": "feedkeep"}
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(_NoRedirects, cookies)

    def get(self, path: str, max_bytes: int) -> bytearray:
        """Return the body of a reply; of one that is longer than `max_bytes`, a little more.

        Raises:
            NotThere: There is nothing at the path.
            RemoteError: The server cannot be asked, now or at all.
        """
        reason = ""
        for pause_seconds in (0.0, *_PAUSES_SECONDS):
            time.sleep(pause_seconds)
            try:
                return self._get(path, max_bytes)
            except urllib.error.HTTPError as error:
                if error.code != _TOO_MANY and error.code < _FAULT:
                    raise _refusal(error) from error
                reason = f"it answers {error.code}"
            except (OSError, http.client.HTTPException) as error:
                reason = str(getattr(error, "reason", error)) or type(error).__name__
        reason = reason[:_SHOWN_CHARACTERS]
        raise RemoteError(f"The other server cannot be asked: {reason}. Try again later.")

    def _get(self, path: str, max_bytes: int) -> bytearray:
        try:
            return self._send(path, None, max_bytes)
        except urllib.error.HTTPError as error:
            if error.code != _UNAUTHORIZED:
                raise
            refusal = error
        try:  # gpodder2go takes a password at its login only, then its cookie for two minutes
            self._send(self._login, b"", 0)
        except urllib.error.HTTPError:
            raise refusal from None
        return self._send(path, None, max_bytes)

    def _send(self, path: str, body: bytes | None, max_bytes: int) -> bytearray:
        request = urllib.request.Request(self._base + path, body, self._headers)  # noqa: S310 - checked above
        with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as reply:
            read = bytearray()
            while len(read) <= max_bytes and (piece := reply.read(_PIECE_BYTES)):
                read += piece
        return read


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the password would go where nobody meant to send it."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _refusal(error: urllib.error.HTTPError) -> RemoteError:
    if error.code in {_UNAUTHORIZED, _FORBIDDEN}:
        return RemoteError("The other server does not accept that name with that password.")
    if error.code == _NOT_FOUND:
        return NotThere(
            "The other server speaks neither gpodder.net's API nor Nextcloud's gpoddersync, or has"
            " no such account."
        )
    location = error.headers.get("Location")
    if location and error.code in _REDIRECTS:
        parts = urllib.parse.urlsplit(location[:_SHOWN_CHARACTERS])
        return RemoteError(f"The other server is at {parts.scheme}://{parts.netloc}; give that.")
    return RemoteError(f"The other server answers {error.code}.")
