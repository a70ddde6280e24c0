"""Another device of the reference server's account, which changes the list during a hard case."""

from __future__ import annotations

import uuid

from podsync_check.reference.server import MAX_PER_PAGE, Reference


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

    def rename(self, url: str) -> None:
        self._become(url, str(uuid.uuid4()))

    def merge(self, url: str, other: str) -> None:
        """Make one subscription of two, with the guid of the other one."""
        if entry := self._server.subscriptions.find_url(other):
            self._become(url, entry.guid)

    def _become(self, url: str, guid: str) -> None:
        if entry := self._server.subscriptions.find_url(url):
            self._server.subscriptions.change(entry, {"new_guid": guid})

    def restore_without(self, url: str) -> None:
        """Restore a backup of the server from before a feed was added."""
        self._server.subscriptions.forget(url)

    def limit_uploads(self, feeds: int | None) -> None:
        """Make the server refuse uploads of more feeds with 413; None accepts all."""
        self._server.max_changes = feeds

    def limit_pages(self, entries: int | None) -> None:
        self._server.max_per_page = entries or MAX_PER_PAGE

    def correct(self, url: str, to: str) -> None:
        """Make the server replace a URL in uploads, and report that in `update_urls`."""
        self._server.list.corrected[url] = to

    def end_sessions(self) -> None:
        self._server.sessions.clear()
