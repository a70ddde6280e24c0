"""Another device of the reference server's account, which changes the list during a hard case."""

from __future__ import annotations

from podsync_check.reference.server import Reference


class OtherDevice:
    """Changes both lists of the reference server: feed URLs and subscriptions."""

    def __init__(self, server: Reference) -> None:
        self._server = server

    def add(self, url: str) -> None:
        self._server.list.change([url], [])
        self._server.subscriptions.add({"feed_url": url})

    def remove(self, url: str) -> None:
        self._server.list.change([], [url])
        if entry := self._server.subscriptions.find_url(url):
            self._server.subscriptions.change(entry, {"is_subscribed": False})

    def move(self, old: str, new: str) -> None:
        self._server.list.change([new], [old])
        if entry := self._server.subscriptions.find_url(old):
            self._server.subscriptions.change(entry, {"new_feed_url": new})

    def correct(self, url: str, to: str) -> None:
        """Make the server replace a URL in uploads, and report that in `update_urls`."""
        self._server.list.corrected[url] = to

    def end_sessions(self) -> None:
        self._server.sessions.clear()
