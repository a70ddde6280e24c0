"""Random sequences of operations: the rules agree with a naive reference, and nothing is lost."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any
from unittest import mock

from forms import IS_FULL, IS_LONG
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from kept_states import KeptStates
from reference import Account, derive

from feedkeep.model import Counts, Decision, Entry, Guid, Limits, Pointer, Snapshot, Stamp
from feedkeep.model import Subscription as Sub
from feedkeep.model.entry_index import target_guid
from feedkeep.model.errors import ChangedSince, InvalidInput, UnknownSubscription
from feedkeep.rules import subscriptions, undo
from feedkeep.rules.entry_states import is_same_state, states_at
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.guids import parse_guid
from feedkeep.rules.invariants import history_violations, violations
from feedkeep.rules.list_limits import MAX_SUBSCRIPTIONS, limits_for
from feedkeep.rules.seen_feeds import NEVER
from feedkeep.rules.subscriptions import MAX_POINTERS, Added, Update, guids_wanted, want
from feedkeep.rules.undo import ConflictPolicy, Undo

URL_TEXTS = ["http://a.example/", "https://a.example", "http://b.example", "https://c.example/x"]
GUID_TEXTS = [f"00000000-0000-4000-8000-00000000000{i}" for i in range(3)]
GUID_TEXTS += [derive("http://a.example"), derive("http://c.example/x")]
URLS = st.sampled_from(URL_TEXTS)
GUIDS = st.sampled_from(GUID_TEXTS)
KNOWN = st.sampled_from(GUID_TEXTS + [derive(url) for url in URL_TEXTS])
CLOCK = st.integers(0, 50)
CHOICES = st.sampled_from(ConflictPolicy)


def first_had(entries: dict[Guid, Entry]) -> dict[str, Any]:
    """Return the time since when each feed is in the list, by the guid derived from its URL."""
    had: dict[str, Any] = {}
    for entry in entries.values():
        if isinstance(entry, Sub):
            had[derive(entry.feed_url)] = entry.first_had
        if entry.alias is not None:
            had[entry.guid] = entry.alias.first_had
    return had


def status_rank(entry: Entry | None) -> int:
    """Return the rank of a feed's status: 0 is deleted, 1 unsubscribed, 2 subscribed."""
    if not isinstance(entry, Sub) or entry.deleted is not None:
        return 0
    return 1 + entry.is_subscribed


def subscribed(entries: dict[Guid, Entry]) -> dict[Guid, str]:
    return {guid: entry.feed_url for guid, entry in entries.items() if status_rank(entry) == 2}


class Rules(RuleBasedStateMachine):
    """One account, changed by the rules and by the reference, and a device that follows it."""

    max_pointers = MAX_POINTERS
    limits = limits_for(MAX_SUBSCRIPTIONS)

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[Guid, Entry] = {}
        self.last_stamp = 0
        self.counts = Counts()
        self.reference = Account()
        self.limit = mock.patch.object(subscriptions, "MAX_POINTERS", self.max_pointers)
        self.limit.start()
        self.copy: dict[Guid, Entry] = {}
        self.followed_to = -1
        self.kept = KeptStates()
        self.lists: list[dict[Guid, Entry]] = [{}]  # after each change
        self.ever_had: dict[str, set[int | None]] = {}  # by the derived guid of a URL

    def teardown(self) -> None:
        self.limit.stop()

    @rule(items=st.lists(st.tuples(URLS, st.none() | GUIDS), min_size=1, max_size=3), now=CLOCK)
    def add(self, items: list[tuple[str, str | None]], now: int) -> None:
        wanted = [want(url, guid) for url, guid in items]
        outcome = self.decide(now, guids_wanted(wanted), lambda s: subscriptions.add(s, wanted))
        guids = self.reference.own_guids(items)
        for (url, _), guid, item in zip(items, guids, outcome, strict=True):
            was_added = self.attempt(lambda u=url, g=guid: self.reference.add(u, g))
            assert was_added == isinstance(item, Added)
        for (url, _), item in zip(items, outcome, strict=True):
            if not isinstance(item, Added):
                continue
            assert item.subscription.is_subscribed
            feed = self.reference.leads(derive(url))
            assert feed is not None
            assert item.subscription == self.entries[item.subscription.guid]
            assert item.subscription.guid == feed.guid
        self.remember()

    @rule(
        guid=KNOWN, url=st.none() | URLS, new_guid=st.none() | KNOWN, on=st.none() | st.booleans(),
        held=st.frozensets(KNOWN), now=CLOCK,
    )  # fmt: skip
    def update(self, guid, url, new_guid, on, held, now) -> None:
        before = dict(self.entries)
        own_guid = parse_guid(new_guid) if new_guid else None
        change = Update(parse_feed_url(url) if url else None, own_guid, on)
        decide = partial(subscriptions.update, guid=guid, change=change, held=held)
        was_done = self.is_done(now, [guid, *change.guids()], decide)
        assert was_done == self.attempt(
            partial(self.reference.update, guid, url, new_guid, on, held)
        )
        assert was_done or before == self.entries
        self.remember()

    @rule(guid=KNOWN, now=CLOCK)
    def delete(self, guid: str, now: int) -> None:
        was_done = self.is_done(now, [guid], partial(subscriptions.delete, guid=guid))
        assert was_done == self.reference.delete(guid)
        self.remember()

    def is_done(self, now: int, guids: Sequence[Guid], decide: Callable[..., Any]) -> bool:
        try:
            self.decide(now, guids, decide)
        except (UnknownSubscription, InvalidInput):
            return False
        return True

    def remember(self) -> None:
        """Make the reference copy its state after the last change."""
        if self.kept.stamps:
            self.reference.remember(self.kept.stamps[-1])

    def stamps(self, back: int, count: int) -> list[Stamp]:
        """Return the stamps of some changes."""
        start = max(0, len(self.kept.stamps) - back)
        return self.kept.stamps[start : start + count]

    @rule(back=st.integers(1, 6), count=st.integers(1, 3), choice=CHOICES, now=CLOCK)
    def undo_some(self, back: int, count: int, choice: ConflictPolicy, now: int) -> None:
        """Changes that are undone leave nothing wrong, whatever happened since."""
        stamps = self.stamps(back, count)
        if not stamps:
            return
        done = self.undo(now, Undo(stamps, None, choice))
        if done is not None and not done.left:
            assert self.undo(now, Undo(stamps)).stamp is None

    @rule(back=st.integers(1, 8), count=st.integers(1, 4), now=CLOCK)
    def bring_back_what_some_changes_removed(self, back: int, count: int, now: int) -> None:
        """Feeds last removed by one of the changes are back, and all else is unchanged."""
        stamps = self.stamps(back, count)
        if not stamps:
            return
        before = dict(self.entries)
        wanted = {
            guid: was
            for guid, entry in before.items()
            if isinstance(entry, Sub) and (was := self.before_removal(guid, set(stamps)))
        }
        decide = partial(undo.restore_removed, stamps=stamps)
        if self.bring_back(now, stamps[0], decide) is None:
            return
        for guid, was in wanted.items():
            assert status_rank(self.entries[self.target(guid)]) >= status_rank(was)
        on = subscribed(before)
        assert all(self.is_subscribed(guid) for guid in on)
        if not any(before[guid].deleted for guid in wanted):
            back = {guid for guid, was in wanted.items() if was.is_subscribed}
            assert subscribed(self.entries).keys() == back | on.keys()
        again = self.bring_back(now, stamps[0], decide)
        assert again is None or again.stamp is None

    def before_removal(self, guid: Guid, stamps: set[Stamp]) -> Sub | None:
        """Return a feed as it was before these changes, if they were the last to remove it."""
        found = None
        for number in range(len(self.kept.stamps) - 1, -1, -1):
            was, became = (self.lists[number + after].get(guid) for after in (0, 1))
            if not isinstance(was, Sub) or status_rank(was) < status_rank(became):
                break
            if status_rank(was) > status_rank(became):
                if self.kept.stamps[number] not in stamps:
                    break
                found = was
        return found

    @rule(now=CLOCK)
    def undo_the_last_change_and_that_again(self, now: int) -> None:
        if not self.kept.stamps:
            return
        for was in (self.lists[-2], self.lists[-1]):
            if self.undo(now, Undo(self.kept.stamps[-1:])) is None:
                return
            self.assert_back(was, keep_added=False)

    @rule(back=st.integers(0, 8), ahead=st.integers(0, 2), keep_added=st.booleans(), now=CLOCK)
    def restore(self, back: int, ahead: int, keep_added: bool, now: int) -> None:
        number = max(0, len(self.kept.stamps) - back)
        was = self.lists[number]
        moment = self.kept.stamps[number - 1] if number else Stamp(0)
        if number < len(self.kept.stamps):
            moment = min(Stamp(moment + ahead), Stamp(self.kept.stamps[number] - 1))
        states = states_at(self.kept.states, moment)
        assert {guid: state.entry for guid, state in states.items()}.keys() == was.keys()
        assert all(is_same_state(state.entry, was[guid]) for guid, state in states.items())
        feeds = self.reference.at(moment)
        feeds_then = [guid for guid, entry in was.items() if isinstance(entry, Sub)]
        had = [
            [feed, *(guid for guid in feeds_then if self.target(guid) == feed)]
            for feed in subscribed(self.entries)
        ]
        decide = partial(undo.restore, moment=moment, keep_added=keep_added)
        if self.bring_back(now, moment, decide) is None:
            return
        self.assert_back(was, keep_added=keep_added)
        if keep_added:
            for guids in had:
                assert any(self.is_subscribed(guid) for guid in guids)
        there = set(subscribed(self.entries).items())
        wanted = {(feed.guid, feed.url) for feed in feeds if feed.on}
        assert wanted <= there if keep_added else wanted == there

    def is_subscribed(self, guid: Guid) -> bool:
        return status_rank(self.entries[self.target(guid)]) == 2

    def undo(self, now: int, wanted: Undo) -> Any:
        return self.bring_back(now, min(wanted.stamps), partial(undo.undo, wanted=wanted))

    def bring_back(self, now: int, history_from: Stamp, decide: Callable[..., Any]) -> Any:
        before = dict(self.entries)
        try:
            done = self.decide(now, list(self.entries), decide, history_from)
        except (InvalidInput, ChangedSince):
            assert before == self.entries
            return None
        assert (done.stamp is None) == (before == self.entries)
        self.reference.become(self.entries.values())
        if done.stamp is not None:
            self.reference.remember(done.stamp)
        return done

    def assert_back(self, was: dict[Guid, Entry], *, keep_added: bool) -> None:
        """Assert that everything visible then is visible again, and that old guids resolve."""
        for guid, then in was.items():
            now = self.entries.get(guid)
            if isinstance(then, Pointer) and then.guid_changed is None:
                assert now is None or self.target(guid) == then.new_guid
                continue
            assert now is not None
            assert self.target(guid) == (then.new_guid if isinstance(then, Pointer) else guid)
            if isinstance(then, Sub):
                assert now.feed_url == then.feed_url
                stands, stood = status_rank(now), status_rank(then)
                assert stands == stood or (keep_added and stands > stood)
        for guid, now in self.entries.items():
            if guid not in was and isinstance(now, Sub) and not keep_added:
                assert now.deleted is not None

    @rule()
    def follow(self) -> None:
        """A device comes back and takes what changed since, as the list shows it."""
        announced = [e for e in self.entries.values() if e.revision is not None]
        news = [e for e in announced if (e.revision or 0) > self.followed_to]
        self.copy |= {entry.guid: entry for entry in news}
        self.followed_to = max([self.followed_to, *(e.revision or 0 for e in news)])

        def target(guid: Guid) -> Guid:
            entry = self.copy[guid]
            return target(entry.new_guid) if isinstance(entry, Pointer) else guid

        led = {e.guid: self.target(e.guid) for e in announced}
        assert led == {guid: target(guid) for guid in self.copy}
        own = {g: e for g, e in self.copy.items() if isinstance(e, Sub)}
        there = {e.guid: e for e in announced if isinstance(e, Sub)}
        listed = [
            {g: (e.is_subscribed, e.feed_url) for g, e in feeds.items()} for feeds in (own, there)
        ]
        assert listed[0] == listed[1]

    @invariant()
    def nothing_is_wrong_with_the_entries(self) -> None:
        assert list(violations(Snapshot(self.entries, self.last_stamp, 0, self.counts))) == []

    @invariant()
    def nothing_is_wrong_with_the_former_states(self) -> None:
        known = self.kept.history()
        whole = Snapshot(self.entries, self.last_stamp, 0, self.counts, history=known)
        assert list(history_violations(whole)) == []

    @invariant()
    def the_reference_has_the_same_account(self) -> None:
        ours = {guid: self.target(guid) for guid in self.entries}
        theirs = {guid: f.guid for f in self.reference.feeds for guid in [f.guid, *f.aliases]}
        assert ours == theirs
        led = [e for e in self.entries.values() if isinstance(e, Pointer)]
        aliases = [alias for f in self.reference.feeds for alias in f.aliases.items()]
        assert {e.guid for e in led if e.guid_changed} == {g for g, is_told in aliases if is_told}
        for feed in self.reference.feeds:
            entry = self.entries[feed.guid]
            found = (entry.feed_url, entry.is_subscribed, entry.deleted is not None)
            assert found == (feed.url, feed.on, feed.deleted)

    def decide(self, now, guids, decide, history_from: Stamp | None = None) -> Any:
        """Apply a rule like a store, and check every stamp that it issued."""
        before, clock = dict(self.entries), self.last_stamp
        given = self.named_by(guids)
        known = None if history_from is None else self.kept.history()
        state = (given, clock, now, self.counts)
        decision = decide(Snapshot(*state, history=known, limits=self.limits))
        assert given == self.named_by(guids), "a rule changed what it was given"
        changed_guids = {*(e.guid for e in decision.saved), *decision.forgotten}
        assert changed_guids & before.keys() <= given.keys(), "a rule changed what it was not given"
        old = {guid: entry.revision for guid, entry in before.items()}
        changed = [e for e in decision.saved if e.revision != old.get(e.guid)]
        stamps = [e.revision for e in changed if e.revision is not None]
        assert all(stamp > clock for stamp in stamps)
        assert decision.last_stamp >= max([clock, *stamps])
        for entry in changed:
            if isinstance(entry, Pointer) and entry.guid_changed:
                target = {e.guid: e for e in decision.saved}.get(entry.new_guid)
                assert target is None or entry.guid_changed < (target.revision or 0)
        self.entries |= {entry.guid: entry for entry in decision.saved}
        for guid in decision.forgotten:
            entry = self.entries.pop(guid)
            assert isinstance(entry, Pointer), "a subscription was lost"
            assert entry.guid_changed is None, "a guid was lost that devices know"
        self.assert_first_had(before, now)
        self.last_stamp = decision.last_stamp
        self.counts = decision.counts
        if decision.saved or decision.forgotten:
            self.keep(before, decision)
        return decision.outcome

    def assert_first_had(self, before: dict[Guid, Entry], now: int) -> None:
        """A feed was had first when its URL came; only a state from before has another moment."""
        was, has = first_had(before), first_had(self.entries)
        for guid, stamp in has.items():
            assert stamp is not None
            if stamp != was.get(guid, NEVER) and stamp not in self.ever_had.get(guid, ()):
                assert was.get(guid, NEVER) == NEVER
                assert stamp == now
            self.ever_had.setdefault(guid, set()).add(stamp)

    def keep(self, before: dict[Guid, Entry], decision: Decision[Any]) -> None:
        assert self.kept.stamps[-1:] < [decision.stamp], "two changes have one stamp"
        for entry in decision.saved:
            is_same = is_same_state(before.get(entry.guid), entry)
            assert is_same == (entry.guid in decision.restamped)
        if self.kept.keep(decision):
            self.lists.append(dict(self.entries))
        else:
            self.lists[-1] = dict(self.entries)  # only stamps changed
        assert self.kept.present() == self.entries

    def named_by(self, guids: Sequence[Guid]) -> dict[Guid, Entry]:
        """Return the entries of `guids`, the subscriptions they lead to, and all pointers there."""
        targets = {self.target(guid) for guid in guids if guid in self.entries}
        return {g: e for g, e in self.entries.items() if self.target(g) in targets}

    def attempt(self, change: Callable[[], bool]) -> bool:
        """Change the reference, unless the change would exceed a limit."""
        before = deepcopy(self.reference.feeds)
        subscribed, entries = self.reference.size()
        is_done = change()
        is_done = is_done and all(len(f.aliases) <= self.max_pointers for f in self.reference.feeds)
        now_subscribed, now_entries = self.reference.size()
        is_done = is_done and now_subscribed <= max(subscribed, self.limits.subscriptions)
        is_done = is_done and now_entries <= max(entries, self.limits.entries)
        self.reference.feeds = self.reference.feeds if is_done else before
        return is_done

    def target(self, guid: Guid) -> Guid:
        entry = self.entries[guid]
        return entry.new_guid if isinstance(entry, Pointer) else guid


class CrowdedRules(Rules):
    """The same, where the limits on pointers, on entries and on subscriptions are soon reached."""

    max_pointers = 3
    limits = Limits(subscriptions=2, entries=5)


OWN = GUID_TEXTS[:3]
"""Guids of no URL: the URLs of feeds that have these are pointers that no device was told of."""

MOVES = [*URL_TEXTS[1:], "http://d.example"]
OWN_GUIDS, NEW_URLS = st.sampled_from(OWN), st.none() | st.sampled_from(MOVES)
STEPS = st.tuples(st.booleans(), OWN_GUIDS, NEW_URLS, st.none() | OWN_GUIDS)


# C3.17
@given(steps=st.lists(STEPS, min_size=4, max_size=12))
def test_no_url_of_a_feed_that_was_merged_is_lost_by_what_follows(steps):
    rules = Rules()
    try:
        rules.add(list(zip(MOVES, OWN, strict=False)), 0)
        merged: set[Guid] = set()
        for is_post, guid, url, new_guid in steps:
            before = dict(rules.entries)
            sent = {new_guid, derive(url) if url else None} & before.keys()
            others = {rules.target(g) for g in sent if g} - {rules.target(Guid(guid))}
            if is_post and url:
                rules.add([(url, guid)], 0)
            elif url is None and new_guid is None:
                rules.delete(guid, 0)
            else:
                rules.update(guid, url, new_guid, None, frozenset(), 0)
            rules.the_reference_has_the_same_account()
            gone = {g for g in others if rules.target(g) == rules.target(Guid(guid))}
            merged |= {g for g, entry in before.items() if target_guid(entry) in gone}
            # The former URL of a deleted feed goes to who takes it, and is then as any other.
            for one in merged & rules.entries.keys():
                led_to = target_guid(before[one])
                if rules.target(one) != led_to and isinstance(rules.entries[led_to], Sub):
                    merged.discard(one)
            assert merged <= rules.entries.keys()
    finally:
        rules.teardown()


RUNS = 20_000 if IS_FULL else 120 if IS_LONG else 40

# C3.6, C3.7, C3.9
TestRules = Rules.TestCase
TestRules.settings = settings(max_examples=RUNS, stateful_step_count=30)
TestCrowdedRules = CrowdedRules.TestCase
TestCrowdedRules.settings = TestRules.settings
