"""The list as podcast apps sync it: changes by URL, whole lists, and moved feeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import starmap

from feedkeep.model import (
    AccountId,
    Admitted,
    Author,
    Clock,
    Decision,
    Document,
    Guid,
    Second,
    Snapshot,
    Stamp,
    Subscription,
    SyncProgress,
    Value,
    replace,
)
from feedkeep.model.errors import InvalidInput, UnknownSubscription
from feedkeep.rules import app_urls, devices, echoes, seconds, url_changes, url_lists
from feedkeep.rules.app_identity import app_of
from feedkeep.rules.app_urls import NO_RECORD, UNKNOWN, AppUrls
from feedkeep.rules.draft import Draft
from feedkeep.rules.escaped_urls import EscapedUrls
from feedkeep.rules.feed_urls import parse_feed_url, parse_new_feed_url
from feedkeep.rules.seen_feeds import had_at
from feedkeep.rules.url_changes import UrlChanges
from feedkeep.rules.url_lists import UploadResult
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.service.episode_actions import EpisodeActions
from feedkeep.service.list_changes import Changed, ListChanges
from feedkeep.service.progress import AppProgress, Progress, Uploaded, next_second, with_stored
from feedkeep.service.remembered_apps import RememberedApp, read_app_urls
from feedkeep.store.base import Store


class ChangesSince(Value, frozen=True):
    """The reply to a request for list changes since a second.

    Attributes:
        timestamp: The second from which the app's next request starts.
    """

    changes: UrlChanges
    timestamp: Second


class _Asked(Value, frozen=True):
    """A request for changes.

    Attributes:
        device: Device in the request; "" if none.
        first: The second from which the app needs all changes.
        by_count: Whether the app removes a feed for each removed text in the reply.
    """

    admitted: Admitted
    device: str
    progress: SyncProgress
    since: Second
    first: Second
    by_count: bool = False

    @property
    def is_from_nothing(self) -> bool:
        """Whether the app only has feeds that its owner added on that device.

        If AntennaPod and Kasts received the removal of these, they would delete their files. An app
        that requests 0 again after receiving a reply may have feeds that were removed since.
        """
        return self.since == seconds.FROM_NOTHING and self.progress.acknowledged is None


class UrlLists:
    """Sends changes to apps, and processes their uploads; `by` is the author."""

    def __init__(
        self,
        store: Store,
        changes: ListChanges,
        actions: EpisodeActions,
        progress: Progress,
    ) -> None:
        self._store = store
        self._actions = actions
        self._list_changes = changes
        self._progress = progress

    async def changes(
        self, admitted: Admitted, since: Second, device: str = "", user_agent: str = ""
    ) -> ChangesSince:
        """Return the changes since a second, and the start of the app's next request.

        `user_agent` identifies apps that need a special response. Without changes, the store is not
        read again after authentication.
        """
        app, clock = await self._progress.of_poll(admitted, Clock.SUBSCRIPTIONS, (device,), since)
        second = seconds.second_of(clock)
        first = seconds.first_second(since, second, app.known)
        changes = url_changes.NO_CHANGES
        if first < second:
            by_count = url_changes.removes_by_count(user_agent)
            asked = _Asked(admitted, device, app.known, since, first, by_count)
            changes = await self._changes(asked, clock)
        after = seconds.after_reply(since, second, app.known)
        await self._progress.save(admitted.account.id, app, after)
        return ChangesSince(changes, second)

    async def _changes(self, asked: _Asked, clock: Stamp) -> UrlChanges:
        app = RememberedApp(app_of(asked.admitted, asked.device))
        while True:
            known, changes = await self._look(asked, app)
            after = changes.app
            if not asked.is_from_nothing:
                sent = echoes.after_poll(after.echoes, asked.since, clock, changes.removals)
                after = replace(after, echoes=sent)
            if await self._learn(asked.admitted.account.id, app, known, after):
                return replace(changes, app=after)

    async def _look(self, asked: _Asked, app: RememberedApp) -> tuple[AppUrls, UrlChanges]:
        """Return the stored URLs of an app, and the changes to send."""
        account_id, first = asked.admitted.account.id, asked.first
        stamp = seconds.first_stamp(first)
        entries = await self._store.entries.changed(account_id, stamp)
        known = await self._app_urls(account_id, app) if entries else UNKNOWN

        def judge() -> UrlChanges:
            listed = entries
            # gPodder would offer to add a feed again that its owner has just removed. After a full
            # sync, an app has forgotten its own uploads, and needs them.
            if first > seconds.EVERYTHING:
                listed = url_changes.without_own(entries, asked.progress, asked.device, asked.since)
            changes = url_changes.changes_to_send(
                listed,
                stamp,
                known,
                is_from_nothing=asked.is_from_nothing,
                by_count=asked.by_count,
            )
            return replace(changes, had=had_at(changes.add, listed))

        return known, await in_thread_if(len(entries) > LONG_LIST, judge)

    async def subscribed(self, account_id: AccountId) -> list[Subscription]:
        """Return the subscribed feeds that apps are sent, the oldest change first."""
        whole = await self._store.entries.whole(account_id)
        is_long = len(whole.entries) > LONG_LIST
        return await in_thread_if(is_long, url_lists.subscribed_for_apps, whole)

    async def upload(
        self, admitted: Admitted, added: Sequence[str], removed: Sequence[str], author: Author
    ) -> Uploaded:
        """Subscribe to and unsubscribe from URLs in one step; invalid URLs are skipped.

        Raises:
            InvalidInput: The device's id is invalid.
        """
        is_long = len(added) + len(removed) > LONG_LIST
        items = await in_thread_if(is_long, lambda: [url_lists.parse_added(url) for url in added])
        escaped = await self._escaped(admitted.account.id)
        unwanted, refused = await in_thread_if(is_long, url_lists.parse_removed, removed, escaped)
        guids = await in_thread_if(is_long, url_lists.guids_named, items, unwanted, escaped)

        def decide(
            snapshot: Snapshot, known: AppUrls, progress: SyncProgress
        ) -> Decision[UploadResult]:
            return url_lists.upload(snapshot, items, unwanted, known, progress, escaped)

        progress = await self._progress_of(admitted, author)
        synced = await self._sync(admitted, author, guids, decide, progress)
        results = zip(items, synced.results, strict=True)
        kept = await in_thread_if(is_long, list, starmap(url_lists.kept_as, results))
        kept += [(url, "") for url in refused]
        after = replace(progress, known=_after(progress, author.device, synced))
        timestamp = next_second(after.known)
        if synced.app.echoes is not None and timestamp in synced.app.echoes.repeats:
            timestamp = await self._later_second(admitted.account.id, after)
        return Uploaded(timestamp, [(sent, url) for sent, url in kept if sent != url or not url])

    async def replace(self, admitted: Admitted, urls: Sequence[str], author: Author) -> int:
        """Replace the list by these URLs, without changing feeds already subscribed.

        Returns the number of invalid URLs. If there are any, no feed is unsubscribed, since an
        invalid URL may mean any feed.

        Raises:
            InvalidInput: All URLs are invalid, or the device's id is.
        """
        wanted = await in_thread_if(len(urls) > LONG_LIST, url_lists.whole_list, urls)
        escaped = await self._escaped(admitted.account.id)

        def decide(
            snapshot: Snapshot, known: AppUrls, progress: SyncProgress
        ) -> Decision[UploadResult]:
            return url_lists.replace_list(snapshot, wanted, known, progress, escaped)

        progress = await self._progress_of(admitted, author)
        await self._sync(admitted, author, None, decide, progress)
        return wanted.refused_count

    async def _sync(
        self,
        admitted: Admitted,
        author: Author,
        guids: Sequence[Guid] | None,
        decide: Callable[[Snapshot, AppUrls, SyncProgress], Decision[UploadResult]],
        progress: AppProgress,
    ) -> UploadResult:
        """Make an upload's changes, and store what it reveals about the app, in one commit."""
        device = author.device
        if device:
            devices.check_id(device)
        app = RememberedApp(app_of(admitted, device))

        def decide_all(snapshot: Snapshot) -> Decision[UploadResult]:
            decision = decide(snapshot, app.known(snapshot.documents), progress.known)
            synced = decision.outcome
            learned = app.learned(snapshot.documents, synced.app, decision.last_stamp)
            stored = progress.to_store(_after(progress, device, synced), snapshot.documents)
            return with_stored(replace(decision, documents=learned), stored)

        names = [*app.names, *progress.documents]
        changed = await self._list_changes.make(
            admitted.account.id, guids, decide_all, author, names
        )
        return changed.outcome

    async def _later_second(self, account_id: AccountId, app: AppProgress) -> Second:
        """Return a later second than any the app has, to detect whether it receives this reply."""
        knows_all = False

        def advanced(clock: Stamp) -> Stamp:
            nonlocal knows_all
            knows_all = seconds.knows_all(app.known, clock)
            return seconds.settled(Stamp(clock + 1)) if knows_all else clock

        clock = await self._store.accounts.advance(account_id, Clock.SUBSCRIPTIONS, advanced)
        if not knows_all:  # the app is sent changes of others, and the second after them
            return Second(next_second(app.known) + 1)
        second = seconds.second_of(clock)
        known = replace(app.known, last_sent=second, acknowledged=second)
        await self._progress.save(account_id, app, known)
        return second

    async def _progress_of(self, admitted: Admitted, author: Author) -> AppProgress:
        return await self._progress.of_upload(admitted, Clock.SUBSCRIPTIONS, (author.device,))

    async def _escaped(self, account_id: AccountId) -> EscapedUrls:
        stored = await self._store.entries.escaped(account_id)
        return await in_thread_if(len(stored) > LONG_LIST, EscapedUrls, stored)

    async def _app_urls(self, account_id: AccountId, app: RememberedApp) -> AppUrls:
        name = app.document
        return read_app_urls(await self._store.documents.body(account_id, name.kind, name.name))

    async def _learn(
        self, account_id: AccountId, app: RememberedApp, before: AppUrls, after: AppUrls
    ) -> bool:
        """Store what a reply changes about an app, merged with changes by its concurrent requests.

        Nothing is stored at the maximum number of apps. Returns False, and stores nothing, if one
        of the new URLs no longer resolves, since another client has undone a move: the app could
        never unsubscribe from it.
        """
        sent = after.known - before.known

        def decide(snapshot: Snapshot) -> Decision[bool]:
            leads = sent <= snapshot.entries.keys()
            learned: list[Document] = []
            if leads:
                documents, now = snapshot.documents, snapshot.last_stamp
                learned = app.noted(
                    documents, app_urls.merged(app.known(documents), before, after), now
                )
            return replace(Draft(snapshot).decision(leads), documents=learned)

        if after == before and before != NO_RECORD:
            return True
        # Requests of an app can run concurrently: `merged` keeps what another has already stored.
        return await self._store.entries.change(account_id, list(sent), decide, [app.document])

    async def move(
        self,
        account_id: AccountId,
        old_url: str,
        new_url: str,
        author: Author,
        *,
        notify_apps: bool,
    ) -> Changed[list[Guid]]:
        """Change a feed's URL; with `notify_apps`, tell apps to replace the old one.

        Apps then delete their data of the feed, so its episode actions get new timestamps and are
        sent to every app again, under the new URL. Returns the guids derived from all its URLs.

        Raises:
            InvalidInput: A URL is invalid, the new one belongs to another subscription, or the
                account has no feed with the old one.
        """
        old, new = parse_feed_url(old_url), parse_new_feed_url(new_url)
        try:
            changed = await self._list_changes.make_for_apps(
                account_id,
                [old.guid, new.guid],
                lambda snapshot, held: url_lists.move(
                    snapshot, old, new, notify_apps=notify_apps, held=held
                ),
                author,
            )
        except UnknownSubscription:
            raise InvalidInput("The account has no feed with the old URL.") from None
        if notify_apps:
            await self._actions.resend(account_id, changed.outcome)
        return changed


def _after(app: AppProgress, device: str, synced: UploadResult) -> SyncProgress:
    return seconds.after_upload(app.known, device, synced.began, synced.ended)
