"""A whole list is read, and written in a step of its own: what comes in between is lost."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.apps import Apps
from feedkeep.model import Admitted, Decision, Snapshot
from feedkeep.rules import url_lists
from feedkeep.rules.spellings import UNKNOWN
from feedkeep.rules.subscriptions import want
from feedkeep.rules.url_lists import Synced


async def replace(apps: Apps, app: Admitted, urls: Sequence[str], device: str = "") -> int:
    wanted = url_lists.whole_list(urls)
    store = apps._store
    read = await store.whole(app.account.id)
    added, left = url_lists.to_replace(read, wanted.urls)

    def decide(snapshot: Snapshot) -> Decision[Synced]:
        items = [want(url.text, None) for url in added]
        return url_lists.upload(snapshot, items, left)

    synced = await store.change(app.account.id, None, decide)
    await apps._note_list(app, device, UNKNOWN, synced)
    return 0


Apps.replace = replace
