"""Services live by the clock they are given; one that was years ahead is set right unnoticed."""

import json

import pytest
from authors import TESTER
from list_values import G1
from running import DAY, HOME, PASSWORD, Clock
from small_lists import add, look
from stores import service_on
from whole_store import damages_of

from feedkeep.model import ActionDecision, DocumentKind, EpisodeAction, PageRequest
from feedkeep.model.errors import NotAuthorized
from feedkeep.rules import database_restores
from feedkeep.rules.credentials import read_token
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.seconds import EVERYTHING
from feedkeep.rules.subscriptions import Update, want

URLS = [f"https://{name}.example" for name in "abcdef"]
YEAR = 366 * DAY


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def store(open_store, clock):
    async with open_store(clock) as store:
        yield store


@pytest.fixture
async def service(store, clock):
    service = service_on(store, clock)
    yield service
    await service._last_uses.close()
    service._passwords.close()


async def test_rules_and_tokens_live_by_the_clock_that_is_given(store, service, clock):
    clock.at = 5
    account = await service.accounts.create("alice", None)
    seen = [account.created]

    def look_at_actions(given, _):
        seen.append(given.now)
        return ActionDecision([], given.last_stamp)

    given = [await store.entries.change(account.id, guids, look) for guids in ([G1], None)]
    seen += [snapshot.now for snapshot in given]
    url = "https://a.example"
    action = EpisodeAction(b"\1" * 16, G1, url, f"{url}/1", "", "new", 0, file=bytes(10))
    await store.episode_actions.record(account.id, [action], look_at_actions, max)
    seen.append((await store.entries.whole(account.id)).now)
    assert seen == [5] * 5
    made = await service.tokens.create("alice", "", 1)
    assert (made.token.created, made.token.expires) == (5, 5 + DAY)
    assert (await service.authentication.admit(read_token(made.text), HOME)).account == account
    clock.at = made.token.expires
    with pytest.raises(NotAuthorized):
        await service.authentication.admit(read_token(made.text), HOME)


class Household:
    """Anna's account, with an app that has a token, and a client that follows the list."""

    def __init__(self, service):
        self.service = service
        self.feeds, self.positions, self.entries = set(), set(), {}
        self.sent = self.actions_sent = 0
        self.followed = database_restores.BEGINNING

    async def begin(self):
        account = await self.service.accounts.create("anna", PASSWORD)
        self.token = (await self.service.tokens.create("anna", "phone", None)).text
        return account.id

    async def let_in(self):
        return await self.service.authentication.admit(read_token(self.token), HOME)

    async def add(self, url):
        admitted = await self.let_in()
        await self.service.subscriptions.add(admitted.account.id, [want(url, None)], TESTER)

    async def play(self, position):
        played = SentAction(URLS[0], f"{URLS[0]}/1", "tv", "play", position, 0, position, 9)
        await self.service.episode_actions.record(await self.let_in(), [played])

    async def sync(self):
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
        self.followed = max([v.entry.revision or 0 for v in page.views], default=self.followed)

    async def assert_has_all(self):
        account = (await self.let_in()).account
        subscribed = await self.service.subscriptions.subscribed(account.id)
        assert self.feeds == {feed.feed_url for feed in subscribed}
        whole = PageRequest(database_restores.BEGINNING, None, 1, 1_000)
        page = await self.service.subscriptions.page(account, whole)
        assert self.entries == {view.entry.guid: view for view in page.views}

    async def change_all_sorts(self):
        """Add, rename, leave, take again, delete and play; return the stamp of a removal."""
        account_id = (await self.let_in()).account.id
        for url in URLS[1:4]:
            await self.add(url)
        lists = self.service.subscriptions
        feeds = {feed.feed_url: feed.guid for feed in await lists.subscribed(account_id)}
        first, second = (feeds[url] for url in URLS[:2])
        await lists.update(account_id, first, Update(new_guid=G1), TESTER)
        gone = await lists.set_subscribed(account_id, [G1], False, TESTER)
        await lists.set_subscribed(account_id, [G1], True, TESTER)
        await lists.delete(account_id, second, TESTER)
        await self.play(1)
        await self.play(2)
        return gone.stamp


async def repaired(service):
    return [account.name async for account in service.clock_repair.repair()]


def order(known):
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
    [unkept] = await add(store, (URLS[5], None), to=account_id)
    await service.preferences.dismiss_mass_unsubscribe(account_id, await anna.change_all_sorts())
    before = await service.subscriptions.whole(account_id)
    history = await service.history.page(account_id)
    await store.documents.change(account_id, DocumentKind.APP_URLS, "a", lambda _, __: "{}")
    known = '{"device":"phone","actions":{"last_sent":2000000000}}'
    await store.documents.change(account_id, DocumentKind.COOKIELESS, "a", lambda _, __: known)
    epoch = database_restores.epoch_of((await anna.let_in()).account)

    clock.go_on(-ahead + DAY)
    [damage] = await damages_of(service)
    assert damage.startswith("account anna: its clock is far ahead of this machine's")
    assert await repaired(service) == ["anna"]
    assert (await damages_of(service), await repaired(service)) == ([], [])
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
    states = (await store.entries.whole(account_id, 0)).history
    assert states.known_from == whole.entries[unkept.guid].revision
    played = await service.episode_actions.since(await anna.let_in(), EVERYTHING)
    stamps = [action.revision async for page in played.pages for action in page]
    assert max(stamps) == found.last_action_stamp
    [deleted] = [e for e in whole.entries.values() if getattr(e, "deleted", None)]
    deletion = await service.subscriptions.deletion(account_id, deleted.deleted)
    assert deletion.guid == deleted.guid
    assert await service.accounts.named("bob") == bob
    await store.accounts.restamp(99, clock.at, pytest.fail)


@pytest.mark.parametrize(
    ("ahead", "is_away"), [(8 * DAY, False), (8 * DAY, True), (10 * YEAR, False)]
)
async def test_no_app_misses_anything_after_a_clock_was_set_right(ahead, is_away, service, clock):
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
        clock.at = right + ahead + DAY
        await anna.add(URLS[5])
        await anna.play(4)
    await anna.sync()
    await anna.assert_has_all()
    assert {2, 3 + is_away} <= anna.positions
