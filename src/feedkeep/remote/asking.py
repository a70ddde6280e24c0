"""HTTP requests to another server in the name of an account there, with errors for people."""

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
_CHUNK_BYTES = 65_536
_SHOWN_CHARACTERS = 200
_REDIRECTS = {301, 302, 303, 307, 308}
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY, _FAULT = 401, 403, 404, 429, 500


class RemoteError(FeedkeepError):
    """A request to the other server failed or was refused; `str()` of it says what to do.

    It can contain text from that server, so it has to be shown as untrusted text.
    """


class NotThere(RemoteError):
    """The other server has no such path."""


class Asker:
    """Gets paths of a server, with an account's name and password."""

    def __init__(self, url: str, name: str, password: str) -> None:
        """Ask the server at `url`, which starts with https:// or http://.

        Raises:
            RemoteError: It is not such a URL.
        """
        try:
            parts = urllib.parse.urlsplit(url)
            is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
        except ValueError:
            is_address = False
        if not is_address:
            raise RemoteError("The address is not valid; it should look like https://gpodder.net.")
        self._base = url.rstrip("/")
        self._login = f"/api/2/auth/{urllib.parse.quote(name, safe='')}/login.json"
        credential = base64.b64encode(f"{name}:{password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {credential}", "User-Agent": "feedkeep"}
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(_NoRedirects, cookies)

    def get(self, path: str, max_bytes: int) -> bytearray:
        """Return the body of a reply; if it is longer than `max_bytes`, only a little more of it.

        Raises:
            NotThere: The server has no such path.
            RemoteError: The request failed, for now or for good.
        """
        reason = ""
        for pause_seconds in (0.0, *_PAUSES_SECONDS):
            time.sleep(pause_seconds)
            try:
                return self._get(path, max_bytes)
            except urllib.error.HTTPError as error:
                if error.code != _TOO_MANY and error.code < _FAULT:
                    raise _refusal(error) from error
                reason = f"it answered {error.code}"
            except (OSError, http.client.HTTPException) as error:
                reason = str(getattr(error, "reason", error)) or type(error).__name__
        reason = reason[:_SHOWN_CHARACTERS]
        raise RemoteError(f"The request to the other server failed: {reason}. Try again later.")

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
            while len(read) <= max_bytes and (chunk := reply.read(_CHUNK_BYTES)):
                read += chunk
        return read


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: it would send the password to a server that its owner did not name."""

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
        return RemoteError(
            f"The other server redirects to {parts.scheme}://{parts.netloc}; use that address."
        )
    return RemoteError(f"The other server answered {error.code}.")
