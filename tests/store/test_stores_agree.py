"""Random sequences of operations: no store differs from the rules, and these not from a reference.

What `tests/rules/test_machine.py` does in memory is done in every store at the same time.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

import pytest
from forms import IS_FULL, IS_LONG
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)
from postgres_server import drop_database, new_database
from test_episode_actions import is_looked_up
from test_machine import CLOCK, GUIDS, KNOWN, URLS, Rules

from feedkeep.model import (
    Account,
    AccountId,
    ActionDecision,
    ActionRequest,
    ActionSnapshot,
    Clock,
    Decision,
    Entry,
    EntryState,
    EpisodeAction,
    Guid,
    HistoryPage,
    Page,
    PageRequest,
    Snapshot,
    Stamp,
    SyncProgress,
    Token,
    TokenProgress,
    View,
    replace,
)
from feedkeep.model import Pointer as PointerEntry
from feedkeep.model.errors import FeedkeepError, NotAuthorized
from feedkeep.rules import episode_actions
from feedkeep.rules.entry_states import states_at
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.runtime import wall_clock
from feedkeep.store.base import Store
from feedkeep.store.postgres import PostgresStore
from feedkeep.store.sqlite import SqliteStore

RUNS = 1_000 if IS_FULL else 10 if IS_LONG else 3

T = TypeVar("T")

ITEMS = st.lists(st.tuples(URLS, st.none() | GUIDS), min_size=1, max_size=2)
OPERATIONS = st.one_of(
    st.tuples(st.just("add"), ITEMS, CLOCK),
    st.tuples(
        st.just("update"), KNOWN, st.none() | URLS, st.none() | KNOWN, st.none() | st.booleans(),
        st.frozensets(KNOWN), CLOCK,
    ),
    st.tuples(st.just("delete"), KNOWN, CLOCK),
)  # fmt: skip


@dataclass
class Stores:
    """All stores, open, and the event loop that they live in."""

    runner: asyncio.Runner
    opened: dict[str, Store]

    def on_each(self, work: Callable[[Store], Coroutine[None, None, T]]) -> dict[str, T]:
        return {name: self.runner.run(work(store)) for name, store in self.opened.items()}


@pytest.fixture
def stores(path, database, postgres):
    other = new_database(postgres)
    with asyncio.Runner() as runner:
        opened: dict[str, Store] = {
            "SQLite": runner.run(SqliteStore.open(path, wall_clock.now)),
            "PostgreSQL": runner.run(PostgresStore.open(database, 8, wall_clock.now)),
            "PostgreSQL, split by account": runner.run(
                PostgresStore.open(other, 8, wall_clock.now, as_if_split=True)
            ),
        }
        yield Stores(runner, opened)
        for store in opened.values():
            runner.run(store.close())
    drop_database(postgres, other)


@dataclass
class Request:
    """What a store was asked, and what the rules answered."""

    guids: Sequence[Guid] | None
    decide: Callable[[Snapshot], Decision[Any]]
    answer: object
    history_from: Stamp | None = None


def answer_of(outcome: object) -> object:
    """Return what can be compared of an outcome or an error."""
    if isinstance(outcome, FeedkeepError):
        return type(outcome), str(outcome)
    assert not isinstance(outcome, BaseException), outcome
    return outcome


def order_of(state: EntryState) -> tuple[int, Guid]:
    return state.ended or 2**63, state.entry.guid


class EveryStore(Rules):
    """An account in each store, beside the one that the rules keep in memory."""

    account_numbers = count(1)

    def __init__(self, stores: Stores) -> None:
        super().__init__()
        self.stores = stores
        self.account_id = AccountId(next(self.account_numbers))
        self.waiting: list[Request] | None = None
        name = f"name{self.account_id}"
        account = Account(self.account_id, name, None, False, 0)
        stores.on_each(lambda store: store.accounts.create(account, name))

    @rule(operations=st.lists(OPERATIONS, min_size=2, max_size=6))
    def at_once(self, operations: list[tuple[Any, ...]]) -> None:
        """Requests that wait together share a transaction, and still come one after the other."""
        self.waiting = []
        for name, *arguments in operations:
            getattr(self, name)(*arguments)
        requests, self.waiting = self.waiting, None
        self.ask(requests)

    def decide(
        self,
        now: int,
        guids: Sequence[Guid],
        decide: Callable[[Snapshot], Decision[Any]],
        history_from: Stamp | None = None,
    ) -> Any:
        named = guids if history_from is None else None  # what comes back may be any of the list

        def at_that_time(snapshot: Snapshot) -> Decision[Any]:
            return decide(replace(snapshot, now=now, limits=self.limits))

        try:
            answer = super().decide(now, guids, decide, history_from)
        except FeedkeepError as error:
            self.ask_or_wait(Request(named, at_that_time, answer_of(error), history_from))
            raise
        self.ask_or_wait(Request(named, at_that_time, answer, history_from))
        return answer

    def ask_or_wait(self, request: Request) -> None:
        if self.waiting is None:
            self.ask([request])
        else:
            self.waiting.append(request)

    def ask(self, requests: Sequence[Request]) -> None:
        async def ask(store: Store) -> list[object]:
            outcomes = await asyncio.gather(
                *(
                    store.entries.change(
                        self.account_id,
                        r.guids,
                        r.decide,
                        author=f"{number} of {len(requests)}",
                        history_from=r.history_from,
                    )
                    for number, r in enumerate(requests)
                ),
                return_exceptions=True,
            )
            return [answer_of(outcome) for outcome in outcomes]

        expected = [request.answer for request in requests]
        for name, answers in self.stores.on_each(ask).items():
            assert answers == expected, name

    @invariant()
    def every_store_has_the_same_history(self) -> None:
        async def look(store: Store) -> tuple[dict[Guid, Entry], list[EntryState], HistoryPage]:
            whole = await store.entries.whole(self.account_id, Stamp(0))
            page = await store.history.page(self.account_id, Stamp(2**63 - 1), 3)
            assert whole.history is not None
            in_order = sorted(whole.history.states, key=order_of)
            first = min(page.stamps, default=Stamp(0))
            assert states_at(in_order, whole.last_stamp).keys() == whole.entries.keys()
            touched = [s for s in in_order if (s.began or 0) >= first or (s.ended or 0) >= first]
            assert sorted(page.states, key=order_of) == touched
            return dict(whole.entries), in_order, page

        found = self.stores.on_each(look)
        for name, (entries, states, page) in found.items():
            assert entries == self.entries, name
            (_, as_sqlite, page_of_sqlite) = found["SQLite"]
            assert (states, page.stamps) == (as_sqlite, page_of_sqlite.stamps), name

    @invariant()
    def every_store_has_what_the_rules_have(self) -> None:
        async def look(store: Store) -> tuple[object, list[Page], Page, list[View | None]]:
            whole = await store.entries.whole(self.account_id)
            first = await store.entries.page(self.account_id, PageRequest(-1, None, 1, 50))
            stamps = [view.entry.revision or 0 for view in first.views]
            later = [
                await store.entries.page(self.account_id, PageRequest(s, None, 1, 50))
                for s in stamps
            ]
            middle = PageRequest(5, None, 2, 2)
            views = [
                await store.entries.view(self.account_id, guid) for guid in sorted(self.entries)
            ]
            page = await store.entries.page(self.account_id, middle)
            kept = (whole.entries, whole.last_stamp, whole.counts)
            return kept, [first, *later], page, views

        listed = sorted(
            (e for e in self.entries.values() if e.revision is not None),
            key=lambda entry: entry.revision or 0,
        )
        found = self.stores.on_each(look)
        for name, (whole, pages, _, views) in found.items():
            everything = pages[0]
            assert whole == (self.entries, self.last_stamp, self.counts), name
            assert [page.total for page in pages] == [*range(len(listed), -1, -1)], name
            assert [view.entry for view in everything.views] == listed, name
            assert [view.entry for view in views if view] == [
                self.entries[guid] for guid in sorted(self.entries)
            ], name
            for view in everything.views:
                assert view.subscription.guid == self.target(view.entry.guid), name
                assert isinstance(view.entry, PointerEntry) or view.entry == view.subscription
        assert len({repr(middle) for _, _, middle, _ in found.values()}) == 1


def test_no_store_differs_from_the_rules_and_the_reference(stores):
    run_state_machine_as_test(
        lambda: EveryStore(stores),
        settings=settings(max_examples=RUNS, stateful_step_count=20),
    )


ACTIONS = st.builds(
    SentAction,
    podcast=st.sampled_from(["https://a.example", "http://a.example/", "https://b.example"]),
    episode=st.sampled_from(["https://a.example/1", "https://a.example/2"]),
    device=st.sampled_from(["", "phone", "laptop"]),
    kind=st.sampled_from(["play", "new"]),
    done=st.none() | st.integers(0, 9),
    position=st.none() | st.integers(0, 3),
    total=st.none() | st.integers(0, 3),
    episode_guid=st.sampled_from([None, "A", "B"]),
)
NAMES = st.sampled_from(["a", "B", "é", "\U0001f3a7"])


class EveryAppStore(RuleBasedStateMachine):
    """What apps keep of an account, in each store, and the actions in memory, too."""

    account_numbers = count(10**6)

    def __init__(self, stores: Stores) -> None:
        super().__init__()
        self.stores = stores
        self.account_id = AccountId(next(self.account_numbers))
        self.known: dict[bytes, EpisodeAction] = {}
        self.last_stamp = 0
        self.sessions = 0
        name = f"name{self.account_id}"
        self.account = Account(self.account_id, name, None, False, 0)
        stores.on_each(lambda store: store.accounts.create(self.account, name))

    def on_each(self, work: Callable[[Store], Coroutine[None, None, object]]) -> None:
        """Do the same with each store; each has to answer the same."""
        assert len({repr(answer) for answer in self.stores.on_each(work).values()}) == 1

    @rule(sent=st.lists(ACTIONS, min_size=1, max_size=3), now=CLOCK)
    def record(self, sent: list[SentAction], now: int) -> None:
        judged = [episode_actions.judge(one) for one in sent]
        actions = [one for one in judged if isinstance(one, EpisodeAction)]

        def decide(snapshot: ActionSnapshot, some: Sequence[EpisodeAction]) -> ActionDecision:
            return episode_actions.record(replace(snapshot, now=now), some)

        known = {
            one.key: one
            for one in self.known.values()
            if any(is_looked_up(one, sent) for sent in actions)
        }
        decision = decide(ActionSnapshot(known, self.last_stamp, now), actions)
        self.known |= {one.key: one for one in decision.saved}
        self.last_stamp = decision.last_stamp if decision.saved else self.last_stamp
        self.on_each(
            lambda store: store.episode_actions.record(self.account_id, actions, decide, max)
        )

    @rule(clock=st.sampled_from(Clock), step=st.integers(0, 9))
    def advance(self, clock: Clock, step: int) -> None:
        self.last_stamp += step if clock is Clock.ACTIONS else 0
        self.on_each(
            lambda store: store.accounts.advance(self.account_id, clock, lambda at: at + step)
        )

    @rule(kind=st.sampled_from(["device", "settings"]), name=NAMES)
    def change_document(self, kind: str, name: str) -> None:
        def decide(body: str | None, others: int) -> str:
            return f"{body or others} and more"

        self.on_each(lambda store: store.documents.change(self.account_id, kind, name, decide))

    @rule(
        expires=st.integers(1, 9),
        label=st.sampled_from("ab"),
        of_token=st.none() | st.integers(1, 6),
    )
    def begin_session(self, expires: int, label: str, of_token: int | None) -> None:
        self.sessions += 1
        kind = Token(0, b"", label, 0, expires, is_session=True, of_token=of_token)
        token = replace(kind, hash=self.sessions.to_bytes(32, "big"))

        async def begin(store: Store) -> Token | None:
            with contextlib.suppress(NotAuthorized):  # where there is no such token any more
                return await store.tokens.add_session(self.account, token, 4, 2)
            return None

        self.on_each(begin)

    @rule(token_id=st.integers(1, 6), number=st.integers(0, 9), clock=st.sampled_from(Clock))
    def use_session(self, token_id: int, number: int, clock: Clock) -> None:
        async def use(store: Store) -> None:
            told = SyncProgress(number, None if number % 3 else number - 1)
            await store.tokens.save_progress(self.account_id, TokenProgress(token_id, clock, told))
            await store.tokens.extend(self.account_id, token_id, number)

        self.on_each(use)

    @rule(token_id=st.integers(1, 6))
    def end_session(self, token_id: int) -> None:
        self.on_each(lambda store: store.tokens.revoke(self.account_id, token_id, 5))

    @invariant()
    def every_store_has_the_same_and_the_actions_that_the_rules_have(self) -> None:
        async def look(store: Store) -> tuple[list[EpisodeAction], object]:
            everything = ActionRequest(0, None, 100, with_superseded=True)
            actions = await store.episode_actions.page(self.account_id, everything)
            of_one = await store.episode_actions.page(self.account_id, ActionRequest(2, derived, 2))
            last = [
                list(
                    await store.episode_actions.last_of_each(
                        self.account_id, ActionRequest(1, podcast, 1, 10**9)
                    )
                )
                for podcast in (None, derived)
            ]
            of_one = [*of_one, *last]
            account = await store.accounts.find(f"name{self.account_id}")
            documents = [
                await store.documents.of(self.account_id, k) for k in ("device", "settings")
            ]
            tokens = await store.tokens.of(self.account_id)
            hashes = [token.hash for token in tokens]
            return actions, (of_one, account, documents, tokens, hashes)

        derived = parse_feed_url("https://a.example").guid
        found = self.stores.on_each(look)
        expected = sorted(self.known.values(), key=lambda one: one.revision)
        for name, (actions, _) in found.items():
            assert actions == expected, name
        assert len({repr(rest) for _, rest in found.values()}) == 1


def test_no_store_keeps_anything_else_for_apps_than_the_others(stores):
    run_state_machine_as_test(
        lambda: EveryAppStore(stores),
        settings=settings(max_examples=RUNS, stateful_step_count=15),
    )
