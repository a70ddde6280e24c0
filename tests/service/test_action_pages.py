"""Each episode action is sent with the URL that its feed has in the list, on each page."""

import pytest
from running import PASSWORD

from feedkeep.model import Admitted, Author, CredentialKind, Second
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Update
from feedkeep.service import episode_actions

FEEDS = [f"https://{number}.example/feed" for number in range(10)]
LISTED = [f"https://www.{number}.example/feed" for number in range(10)]


@pytest.mark.parametrize("remembered_characters", [0, 100, 100_000])
async def test_each_page_has_the_urls_of_the_list_however_many_are_remembered(
    monkeypatch, remembered_characters, service, store, clock
):
    monkeypatch.setattr(episode_actions, "MAX_REMEMBERED_CHARACTERS", remembered_characters)
    monkeypatch.setattr(episode_actions, "LISTED_AT_ONCE", 4)
    asked: list[object] = []
    bob = Admitted(await service.accounts.create("Bob", PASSWORD), "test")
    by = Author(CredentialKind.PASSWORD)
    await service.url_lists.upload(bob, FEEDS, [], by)
    clock.go_on(1_000_000)
    actions = [
        SentAction(FEEDS[n % 10], f"https://{n}.example/mp3", "phone", "play", n, 0, 1, 9)
        for n in range(40)
    ]
    await service.episode_actions.record(bob, actions)
    for feed, moved_to in zip(FEEDS, LISTED, strict=True):
        guid, wanted = parse_feed_url(feed).guid, Update(parse_feed_url(moved_to))
        await service.subscriptions.update(bob.account.id, guid, wanted, by)
    clock.go_on(1_000_000)
    view = store.entries.view

    async def seen(*arguments):
        asked.append(arguments)
        return await view(*arguments)

    monkeypatch.setattr(store.entries, "view", seen)
    there = await service.episode_actions.since(bob, Second(0))
    sent = [action async for page in there.pages for action in page]
    assert [action.podcast for action in sent] == LISTED * 4
    assert (len(asked) == len(FEEDS)) is (remembered_characters > 1_000)
