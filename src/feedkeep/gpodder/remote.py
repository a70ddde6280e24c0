"""Another server that speaks gpodder.net's API: asking it for what an account has there."""

from __future__ import annotations

import base64
import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import msgspec

from feedkeep.errors import FeedkeepError

MAX_REPLY_BYTES = 512 * 1024 * 1024

_TIMEOUT_SECONDS = 120.0  # a long history takes gpodder.net a minute
_PAUSES_SECONDS = (1.0, 5.0, 15.0)
_REDIRECTS = {301, 302, 303, 307, 308}
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY, _FAULT = 401, 403, 404, 429, 500


class RemoteError(FeedkeepError):
    """The other server cannot be asked, or says no; `str()` of it says what to do."""


class Remote:
    """An account on another server. Its methods wait for the network."""

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
        self._name = urllib.parse.quote(name, safe="")
        credential = base64.b64encode(f"{name}:{password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {credential}", "User-Agent": "feedkeep"}
        self._opener = urllib.request.build_opener(_NoRedirects)

    def devices(self) -> list[dict[str, Any]]:
        """Return the devices; raises `RemoteError`, as all that follows does."""
        return _objects(self._get(f"/api/2/devices/{self._name}.json"))

    def subscriptions(self) -> list[str]:
        """Return the URLs of all feeds that are subscribed to on any device."""
        found = self._get(f"/subscriptions/{self._name}.json")
        items = found if isinstance(found, list) else []
        urls = [item.get("url") if isinstance(item, dict) else item for item in items]
        return [url for url in urls if isinstance(url, str)]

    def episode_actions(self, since: int) -> tuple[list[dict[str, Any]], int]:
        """Return the actions since a second, and the second to ask for next."""
        found = self._get(f"/api/2/episodes/{self._name}.json?since={since}")
        if not isinstance(found, dict) or not isinstance(found.get("timestamp"), int):
            raise RemoteError("The other server's episode actions are not what they should be.")
        return _objects(found.get("actions")), found["timestamp"]

    def _get(self, path: str) -> Any:
        for pause_seconds in (*_PAUSES_SECONDS, None):
            try:
                with self._open(path) as reply:
                    return msgspec.json.decode(reply.read(MAX_REPLY_BYTES))
            except urllib.error.HTTPError as error:
                if error.code != _TOO_MANY and error.code < _FAULT:
                    raise RemoteError(_told(error)) from error
                reason = f"it answers {error.code}"
            except (OSError, http.client.HTTPException) as error:
                reason = str(getattr(error, "reason", error)) or type(error).__name__
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise RemoteError("The other server's reply is not JSON.") from error
            if pause_seconds is not None:
                time.sleep(pause_seconds)
        raise RemoteError(f"The other server cannot be asked: {reason}. Try again later.")

    def _open(self, path: str) -> Any:
        request = urllib.request.Request(self._base + path, headers=self._headers)  # noqa: S310 - checked above
        return self._opener.open(request, timeout=_TIMEOUT_SECONDS)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the password would go where nobody meant to send it."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _told(error: urllib.error.HTTPError) -> str:
    if error.code in {_UNAUTHORIZED, _FORBIDDEN}:
        return "The other server does not accept that name with that password."
    if error.code == _NOT_FOUND:
        return "The other server does not speak gpodder.net's API, or has no such account."
    location = error.headers.get("Location")
    if location and error.code in _REDIRECTS:
        parts = urllib.parse.urlsplit(location)
        return f"The other server is at {parts.scheme}://{parts.netloc}; give that address."
    return f"The other server answers {error.code}."


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
