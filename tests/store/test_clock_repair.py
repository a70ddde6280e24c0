"""A clock that was years ahead for seconds is set right, on every store, and nobody misses that."""

import json
from collections.abc import Iterable

import pytest
import test_store
from authors import TESTER
from running import DAY, HOME, PASSWORD

from feedkeep.model import (
    AccountId,
    Admitted,
    DocumentKind,
    Entry,
    Guid,
    PageRequest,
    Second,
    Stamp,
)
from feedkeep.rules import database_restores
from feedkeep.rules.credentials import read_token
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.seconds import EVERYTHING
from feedkeep.rules.subscriptions import Update, want
from feedkeep.service import Service

URLS = [f"https://{name}.example" for name in "abcdef"]
YEAR = 366 * DAY
G1 = Guid("00000000-0000-4000-8000-000000000001")


class Household:
    """Anna's account, with an app that has a token, and a client that follows the list."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.token = ""
        self.feeds: set[str] = set()
        self.sent = Second(0)
        self.actions_sent = Second(0)
        self.positions: set[int | None] = set()
        self.followed = database_restores.BEGINNING
        self.entries: dict = {}

    async def begin(self) -> AccountId:
        account = await self.service.accounts.create("anna", PASSWORD)
        self.token = (await self.service.tokens.create("anna", "phone", None)).text
        return account.id

    async def let_in(self) -> Admitted:
        credential = read_token(self.token)
        assert credential is not None
        return await self.service.authentication.admit(credential, HOME)

    async def add(self, url: str) -> None:
        admitted = await self.let_in()
        await self.service.subscriptions.add(admitted.account.id, [want(url, None)], TESTER)

    async def play(self, position: int) -> None:
        played = SentAction(
            URLS[0], "https://cdn.example/1", "tv", "play", position, 0, position, 9
        )
        await self.service.episode_actions.record(await self.let_in(), [played])

    async def sync(self) -> None:
        lists, actions = self.service.url_lists, self.service.episode_actions
        sent = await lists.changes(await self.let_in(), self.sent)
        self.feeds = self.feeds.union(sent.changes.add).difference(sent.changes.remove)
        self.sent = sent.timestamp
        since = await actions.since(await self.let_in(), self.actions_sent)
        self.positions |= {action.position async for page in since.pages for action in page}
        self.actions_sent = since.timestamp
        account = (await self.let_in()).account
        asked = PageRequest(self.followed, None, 1, 1_000)
        page = await self.service.subscriptions.page(account, asked)
        self.entries |= {view.entry.guid: view for view in page.views}
        self.followed = Stamp(
            max([v.entry.revision or 0 for v in page.views], default=self.followed)
        )

    async def assert_has_all(self) -> None:
        account = (await self.let_in()).account
        subscribed = await self.service.subscriptions.subscribed(account.id)
        assert self.feeds == {feed.feed_url for feed in subscribed}
        whole = PageRequest(database_restores.BEGINNING, None, 1, 1_000)
        page = await self.service.subscriptions.page(account, whole)
        assert self.entries == {view.entry.guid: view for view in page.views}

    async def change_all_sorts(self) -> Stamp:
        """Add, rename, leave, take again, delete and play; return the stamp of a removal."""
        account_id = (await self.let_in()).account.id
        for url in URLS[1:4]:
            await self.add(url)
        lists = self.service.subscriptions
        first, second, *_ = [
            feed.guid for feed in await lists.subscribed(account_id) if feed.feed_url in URLS[:2]
        ]
        await lists.update(account_id, first, Update(new_guid=G1), TESTER)
        gone = await lists.set_subscribed(account_id, [G1], False, TESTER)
        await lists.set_subscribed(account_id, [G1], True, TESTER)
        await lists.delete(account_id, second, TESTER)
        await self.play(1)
        await self.play(2)
        return gone.stamp


async def faults(service: Service) -> list[str]:
    return [damage async for found in service.check() for damage in found.faults]


async def repaired(service: Service) -> list[str]:
    return [account.name async for account in service.clock_repair.repair()]


def order(known: Iterable[Entry]) -> list[list[Guid]]:
    """Return the guids of entries in the order of each of their stamps."""
    names = ("revision", "guid_changed", "subscription_changed", "deleted", "status_changed")
    stamped = [[e for e in known if getattr(e, name, None) is not None] for name in names]
    return [
        [e.guid for e in sorted(some, key=lambda e: (getattr(e, name), e.guid))]
        for name, some in zip(names, stamped, strict=True)
    ]


# C6.5
@pytest.mark.parametrize("ahead", [8 * DAY, 10 * YEAR])
async def test_a_clock_that_was_ahead_is_set_right_and_what_it_stamped_keeps_its_order(
    ahead, service, store, clock
):
    anna = Household(service)
    account_id = await anna.begin()
    bob = await service.accounts.create("bob", None)
    await anna.add(URLS[0])
    clock.go_on(ahead)
    [unkept] = await test_store.add(store, (URLS[5], None), to=account_id)
    await service.preferences.dismiss_mass_unsubscribe(account_id, await anna.change_all_sorts())
    before = await service.subscriptions.whole(account_id)
    history = await service.history.page(account_id)
    await store.documents.change(account_id, DocumentKind.APP_URLS, "a", lambda _, __: "{}")
    known = '{"device":"phone","actions":{"last_sent":2000000000}}'
    await store.documents.change(account_id, DocumentKind.COOKIELESS, "a", lambda _, __: known)
    epoch = database_restores.epoch_of((await anna.let_in()).account)

    clock.go_on(-ahead + DAY)
    [damage] = await faults(service)
    assert damage.startswith("account anna: its clock is far ahead of this machine's")
    assert await repaired(service) == ["anna"]
    assert (await faults(service), await repaired(service)) == ([], [])
    found = (await anna.let_in()).account
    assert clock.at < found.last_stamp < clock.at + 100
    assert clock.at < found.last_action_stamp < clock.at + 100
    assert database_restores.epoch_of(found) != epoch
    assert (await service.preferences.of(account_id)).dismissed_mass_unsubscribe == clock.at
    assert await store.documents.of(account_id, DocumentKind.APP_URLS) == []
    [cookieless] = await store.documents.of(account_id, DocumentKind.COOKIELESS)
    assert json.loads(cookieless.body)["actions"]["last_sent"] == EVERYTHING
    whole = await service.subscriptions.whole(account_id)
    assert order(whole.entries.values()) == order(before.entries.values())
    anew = await service.history.page(account_id)
    sent, shown = (
        [[feed.guid for feed in change.feeds] for change in page.changes]
        for page in (anew, history)  # of ten years later, when it shows no more of the past
    )
    assert sent[: len(shown)] == shown
    assert anew.changes[0].stamp <= found.last_stamp
    states = (await store.entries.whole(account_id, Stamp(0))).history
    assert states.known_from == whole.entries[unkept.guid].revision
    played = await service.episode_actions.since(await anna.let_in(), EVERYTHING)
    stamps = [action.revision async for page in played.pages for action in page]
    assert max(stamps) == found.last_action_stamp
    [deleted] = [e for e in whole.entries.values() if getattr(e, "deleted", None)]
    deletion = await service.subscriptions.deletion(account_id, deleted.deleted)
    assert deletion.guid == deleted.guid
    assert await service.accounts.named("bob") == bob
    await store.accounts.restamp(AccountId(99), clock.at, pytest.fail)


@pytest.mark.parametrize(
    ("ahead", "is_away"), [(8 * DAY, False), (8 * DAY, True), (10 * YEAR, False)]
)
async def test_after_a_clock_was_set_right_no_app_or_client_misses_anything(
    ahead, is_away, service, store, clock
):
    anna = Household(service)
    await anna.begin()
    await anna.add(URLS[0])
    await anna.sync()
    right = clock.at
    clock.go_on(ahead)
    await anna.change_all_sorts()
    await anna.sync()
    clock.at = right
    assert await repaired(service) == ["anna"]
    await anna.add(URLS[4])
    await anna.play(3)
    if is_away:  # for so long that the clock has come as far as it was
        clock.at = Stamp(right + ahead + DAY)
        await anna.add(URLS[5])
        await anna.play(4)
    await anna.sync()
    await anna.assert_has_all()
    assert {2, 3 + is_away} <= anna.positions
