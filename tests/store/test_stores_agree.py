"""Random sequences of operations: no store differs from the rules, and these not from a reference.

What `tests/rules/test_machine.py` does in memory is done in every store at the same time.
"""

import asyncio
import contextlib
from dataclasses import dataclass
from itertools import count
from typing import Any

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
from list_values import account, derived
from postgres_server import drop_database, new_database
from test_episode_actions import is_looked_up
from test_machine import CLOCK, GUIDS, KNOWN, URLS, Rules

from feedkeep import model
from feedkeep.model import replace
from feedkeep.model.errors import FeedkeepError, NotAuthorized
from feedkeep.rules import episode_actions
from feedkeep.rules.entry_states import states_at
from feedkeep.rules.episode_actions import SentAction
from feedkeep.runtime import wall_clock
from feedkeep.store.postgres import PostgresStore
from feedkeep.store.sqlite import SqliteStore

RUNS = 1_000 if IS_FULL else 10 if IS_LONG else 3

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
    opened: dict

    def on_each(self, work):
        return {name: self.runner.run(work(store)) for name, store in self.opened.items()}

    def create(self, account_id):
        """Create an account in each store."""
        one = account(account_id, f"name{account_id}")
        self.on_each(lambda store: store.accounts.create(one, one.name))
        return one


@pytest.fixture
def stores(path, database, postgres):
    other = new_database(postgres)
    opening = {
        "SQLite": SqliteStore.open(path, wall_clock.now),
        "PostgreSQL": PostgresStore.open(database, 8, wall_clock.now),
        "PostgreSQL, split": PostgresStore.open(other, 8, wall_clock.now, as_if_split=True),
    }
    with asyncio.Runner() as runner:
        stores = Stores(runner, {name: runner.run(store) for name, store in opening.items()})
        yield stores
        stores.on_each(lambda store: store.close())
    drop_database(postgres, other)


def run(machine, stores, steps):
    told = settings(max_examples=RUNS, stateful_step_count=steps)
    run_state_machine_as_test(lambda: machine(stores), settings=told)


@dataclass
class Request:
    """A request to a store, and the answer of the rules."""

    guids: Any
    decide: Any
    answer: object
    history_from: int | None = None


def answer_of(outcome):
    """Return the comparable part of an outcome or an error."""
    if isinstance(outcome, FeedkeepError):
        return type(outcome), str(outcome)
    assert not isinstance(outcome, BaseException), outcome
    return outcome


class EveryStore(Rules):
    """An account in each store, beside the one that the rules keep in memory."""

    account_numbers = count(1)

    def __init__(self, stores):
        super().__init__()
        self.stores = stores
        self.account_id = stores.create(next(self.account_numbers)).id
        self.waiting = None

    @rule(operations=st.lists(OPERATIONS, min_size=2, max_size=6))
    def at_once(self, operations):
        """Requests that wait together share a transaction, and still come one after the other."""
        self.waiting = []
        for name, *arguments in operations:
            getattr(self, name)(*arguments)
        requests, self.waiting = self.waiting, None
        self.ask(requests)

    def decide(self, now, guids, decide, history_from=None):
        named = guids if history_from is None else None  # what comes back may be any of the list

        def at_that_time(snapshot):
            return decide(replace(snapshot, now=now, limits=self.limits))

        request = Request(named, at_that_time, None, history_from)
        try:
            request.answer = super().decide(now, guids, decide, history_from)
        except FeedkeepError as error:
            request.answer = answer_of(error)
            raise
        finally:
            if self.waiting is None:
                self.ask([request])
            else:
                self.waiting.append(request)
        return request.answer

    def ask(self, requests):
        async def ask(store):
            changes = []
            for number, one in enumerate(requests):
                more = {"author": f"{number} of {len(requests)}", "history_from": one.history_from}
                change = store.entries.change(self.account_id, one.guids, one.decide, **more)
                changes.append(change)
            outcomes = await asyncio.gather(*changes, return_exceptions=True)
            return [answer_of(outcome) for outcome in outcomes]

        expected = [request.answer for request in requests]
        for name, answers in self.stores.on_each(ask).items():
            assert answers == expected, name

    @invariant()
    def every_store_has_the_same_history(self):
        def order_of(state):
            return state.ended or 2**63, state.entry.guid

        async def look(store):
            whole = await store.entries.whole(self.account_id, 0)
            page = await store.history.page(self.account_id, 2**63 - 1, 3)
            in_order = sorted(whole.history.states, key=order_of)
            first = min(page.stamps, default=0)
            assert states_at(in_order, whole.last_stamp).keys() == whole.entries.keys()
            touched = [s for s in in_order if (s.began or 0) >= first or (s.ended or 0) >= first]
            assert sorted(page.states, key=order_of) == touched
            return dict(whole.entries), in_order, page.stamps

        found = self.stores.on_each(look)
        for name, (entries, *history) in found.items():
            assert entries == self.entries, name
            assert history == list(found["SQLite"][1:]), name

    @invariant()
    def every_store_has_what_the_rules_have(self):
        async def look(store):
            async def page(since, *more):
                return await store.entries.page(
                    self.account_id, model.PageRequest(since, None, *more)
                )

            whole = await store.entries.whole(self.account_id)
            first = await page(-1, 1, 50)
            later = [await page(view.entry.revision or 0, 1, 50) for view in first.views]
            guids = sorted(self.entries)
            views = [await store.entries.view(self.account_id, guid) for guid in guids]
            kept = (whole.entries, whole.last_stamp, whole.counts)
            return kept, [first, *later], await page(5, 2, 2), views

        announced = [entry for entry in self.entries.values() if entry.revision is not None]
        listed = sorted(announced, key=lambda entry: entry.revision)
        found = self.stores.on_each(look)
        for name, (whole, pages, _, views) in found.items():
            everything = pages[0]
            assert whole == (self.entries, self.last_stamp, self.counts), name
            assert [page.total for page in pages] == [*range(len(listed), -1, -1)], name
            assert [view.entry for view in everything.views] == listed, name
            entries = [self.entries[guid] for guid in sorted(self.entries)]
            assert [view.entry for view in views if view] == entries, name
            for view in everything.views:
                assert view.subscription.guid == self.target(view.entry.guid), name
                assert isinstance(view.entry, model.Pointer) or view.entry == view.subscription
        assert len({repr(middle) for _, _, middle, _ in found.values()}) == 1


def test_no_store_differs_from_the_rules_and_the_reference(stores):
    run(EveryStore, stores, 20)


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
NUMBERS = st.integers(1, 6)


class EveryAppStore(RuleBasedStateMachine):
    """App data of an account in each store, with the actions in memory, too."""

    account_numbers = count(10**6)

    def __init__(self, stores):
        super().__init__()
        self.stores = stores
        self.account = stores.create(next(self.account_numbers))
        self.account_id = self.account.id
        self.known = {}
        self.last_stamp = 0
        self.sessions = 0

    def on_each(self, work):
        """Do the same with each store; each has to answer the same."""
        assert len({repr(answer) for answer in self.stores.on_each(work).values()}) == 1

    @rule(sent=st.lists(ACTIONS, min_size=1, max_size=3), now=CLOCK)
    def record(self, sent, now):
        judged = [episode_actions.judge(one) for one in sent]
        actions = [one for one in judged if isinstance(one, model.EpisodeAction)]

        def decide(snapshot, some):
            return episode_actions.record(replace(snapshot, now=now), some)

        stored = self.known.values()
        known = [one for one in stored if any(is_looked_up(one, sent) for sent in actions)]
        given = model.ActionSnapshot({one.key: one for one in known}, self.last_stamp, now)
        decision = decide(given, actions)
        self.known |= {one.key: one for one in decision.saved}
        self.last_stamp = decision.last_stamp if decision.saved else self.last_stamp
        self.on_each(
            lambda store: store.episode_actions.record(self.account_id, actions, decide, max)
        )

    @rule(clock=st.sampled_from(model.Clock), step=st.integers(0, 9))
    def advance(self, clock, step):
        self.last_stamp += step if clock is model.Clock.ACTIONS else 0
        self.on_each(
            lambda store: store.accounts.advance(self.account_id, clock, lambda at: at + step)
        )

    @rule(kind=st.sampled_from(["device", "settings"]), name=NAMES)
    def change_document(self, kind, name):
        def decide(body, others):
            return f"{body or others} and more"

        self.on_each(lambda store: store.documents.change(self.account_id, kind, name, decide))

    @rule(expires=st.integers(1, 9), label=st.sampled_from("ab"), of_token=st.none() | NUMBERS)
    def begin_session(self, expires, label, of_token):
        self.sessions += 1
        hashed = self.sessions.to_bytes(32, "big")
        token = model.Token(0, hashed, label, 0, expires, is_session=True, of_token=of_token)

        async def begin(store):
            with contextlib.suppress(NotAuthorized):  # where there is no such token any more
                return await store.tokens.add_session(self.account, token, 4, 2)

        self.on_each(begin)

    @rule(token_id=NUMBERS, number=st.integers(0, 9), clock=st.sampled_from(model.Clock))
    def use_session(self, token_id, number, clock):
        async def use(store):
            told = model.SyncProgress(number, None if number % 3 else number - 1)
            await store.tokens.save_progress(
                self.account_id, model.TokenProgress(token_id, clock, told)
            )
            await store.tokens.extend(self.account_id, token_id, number)

        self.on_each(use)

    @rule(token_id=NUMBERS)
    def end_session(self, token_id):
        self.on_each(lambda store: store.tokens.revoke(self.account_id, token_id, 5))

    @invariant()
    def every_store_has_the_same_and_the_actions_that_the_rules_have(self):
        async def look(store):
            of, kept, podcast = self.account_id, store.episode_actions, derived("https://a.example")
            actions = await kept.page(of, model.ActionRequest(0, None, 100, with_superseded=True))
            requests = [model.ActionRequest(1, one, 1, 10**9) for one in (None, podcast)]
            tokens = await store.tokens.of(of)
            return actions, [
                await kept.page(of, model.ActionRequest(2, podcast, 2)),
                *[list(await kept.last_of_each(of, request)) for request in requests],
                await store.accounts.find(self.account.name),
                *[await store.documents.of(of, kind) for kind in ("device", "settings")],
                tokens,
                [token.hash for token in tokens],
            ]

        found = self.stores.on_each(look)
        expected = sorted(self.known.values(), key=lambda one: one.revision)
        for name, (actions, _) in found.items():
            assert actions == expected, name
        assert len({repr(rest) for _, rest in found.values()}) == 1


def test_no_store_keeps_anything_else_for_apps_than_the_others(stores):
    run(EveryAppStore, stores, 15)
