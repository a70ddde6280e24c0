"""Another device of the reference server's account: it changes the list while an app is watched."""

from __future__ import annotations

from podsync_check.reference.server import Reference


class OtherDevice:
    """Changes both lists of the reference server: that of feed URLs, and that of subscriptions."""

    def __init__(self, server: Reference) -> None:
        self._server = server

    def add(self, url: str) -> None:
        """Subscribe to a feed."""
        self._server.list.change([url], [])
        self._server.subscriptions.add({"feed_url": url})

    def remove(self, url: str) -> None:
        """Unsubscribe from it."""
        self._server.list.change([], [url])
        if entry := self._server.subscriptions.find_url(url):
            self._server.subscriptions.change(entry, {"is_subscribed": False})

    def move(self, old: str, new: str) -> None:
        """Give a feed another URL."""
        self._server.list.change([new], [old])
        if entry := self._server.subscriptions.find_url(old):
            self._server.subscriptions.change(entry, {"new_feed_url": new})

    def correct(self, url: str, to: str) -> None:
        """Have the server take one URL for another when it is uploaded, and say so."""
        self._server.list.corrected[url] = to

    def end_sessions(self) -> None:
        """End all sessions."""
        self._server.sessions.clear()
