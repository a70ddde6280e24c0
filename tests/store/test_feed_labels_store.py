"""What every store promises of the titles and folders that owners give to their feeds."""

import asyncio

import pytest
from test_store import ALICE, BOB, G1, G2, G3, A, B, account, add, update

from feedkeep.model import FeedLabel, Guid, replace
from feedkeep.model.errors import NotAuthorized
from feedkeep.rules.subscriptions import Update
from feedkeep.store.base import Store

TYPED = FeedLabel(G1, "Zoë's", "Täglich / Früh", is_title_edited=True, is_folder_edited=True)
PLAIN = FeedLabel(G2, "Title")


async def save(store: Store, *labels: FeedLabel) -> None:
    await store.feed_labels.change(ALICE, lambda _: labels)


async def labels(store: Store) -> list[FeedLabel]:
    return [found.label for found in await store.feed_labels.of(ALICE)]


async def test_labels_are_stored_with_what_their_guids_lead_to(store):
    await add(store, (A, G1), (B, G2))
    await save(store, PLAIN, TYPED)
    await update(store, G1, Update(new_guid=G3))
    renamed, plain = await store.feed_labels.of(ALICE)
    assert (renamed.label, plain.label) == (TYPED, PLAIN)
    assert renamed.view == await store.entries.view(ALICE, G1)
    assert renamed.view.subscription.guid == G3
    assert plain.view == await store.entries.view(ALICE, G2)
    assert await store.feed_labels.of(BOB) == []


async def test_a_label_changes_nothing_of_the_list(store):
    await add(store, (A, G1))
    before = await store.entries.whole(ALICE, 0)
    await save(store, TYPED)
    after = await store.entries.whole(ALICE, 0)
    assert replace(after, now=before.now) == before


async def test_each_change_is_given_what_those_before_it_saved(store):
    await add(store, (A, G1))

    def longer(found):
        title = found[0].label.title if found else ""
        return [FeedLabel(G1, f"{title}x")]

    await asyncio.gather(*(store.feed_labels.change(ALICE, longer) for _ in range(9)))
    assert await labels(store) == [FeedLabel(G1, "x" * 9)]
    await store.feed_labels.change(ALICE, lambda _: ())
    assert await labels(store) == [FeedLabel(G1, "x" * 9)]


async def test_many_labels_are_saved_in_one_change(store):
    guids = [Guid(f"00000000-0000-4000-8000-{number:012x}") for number in range(1_050)]
    await add(store, *((f"https://{number}.example", one) for number, one in enumerate(guids)))
    await save(store, *(FeedLabel(guid, guid[-4:]) for guid in reversed(guids)))
    assert await labels(store) == [FeedLabel(guid, guid[-4:]) for guid in guids]
    found: list[int] = []
    await store.feed_labels.change(ALICE, lambda known: (found.append(len(known)), ())[1])
    assert found == [len(guids)]


async def test_labels_go_with_their_account_and_none_is_written_for_it_any_more(store):
    await add(store, (A, G1))
    await save(store, TYPED)
    await store.accounts.delete(ALICE)
    assert await store.feed_labels.of(ALICE) == []
    with pytest.raises(NotAuthorized):
        await save(store, TYPED)
    await store.accounts.create(account(), "alice")
    await add(store, (A, G1))
    assert await labels(store) == []
