"""A whole list is read, and written in a step of its own: what comes in between is lost."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import Admitted, Author, Decision, Snapshot, SyncProgress
from feedkeep.rules import url_lists
from feedkeep.rules.app_urls import AppUrls
from feedkeep.rules.subscriptions import want
from feedkeep.rules.url_lists import UploadResult
from feedkeep.service.url_lists import UrlLists


async def replace(lists: UrlLists, admitted: Admitted, urls: Sequence[str], author: Author) -> int:
    wanted = url_lists.whole_list(urls)
    store = lists._store
    read = await store.entries.whole(admitted.account.id)
    added, left = url_lists.differences(read, wanted.urls)

    def decide(snapshot: Snapshot, _known: AppUrls, _told: SyncProgress) -> Decision[UploadResult]:
        items = [want(url.text, None) for url in added]
        return url_lists.upload(snapshot, items, left)

    progress = await lists._progress_of(admitted, author)
    await lists._sync(admitted, author, None, decide, progress)
    return 0


UrlLists.replace = replace
