"""Made-up accounts with everything that a store can keep, as many as a test wants."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator

from feedkeep.model import (
    Account,
    AccountId,
    AccountRecord,
    Alias,
    Deletion,
    Document,
    Entry,
    EntryState,
    EpisodeAction,
    FeedLabel,
    Guid,
    Pointer,
    Purpose,
    Records,
    Scope,
    Subscription,
    Token,
    replace,
)
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.list_limits import count

KINDS = 9
ENTRIES_IN_A_FAMILY = 5
FORMER_STATES_IN_A_FAMILY = 3


async def library(accounts: int, entries: int) -> AsyncIterator[Records]:
    """Yield the records of `accounts` accounts with `entries` entries each, like an archive."""
    ids = [AccountId(2**62 + 1_000_003 * number) for number in range(accounts)]
    for kind in range(KINDS):
        for number, account_id in enumerate(ids):
            records = list(_records(kind, number, account_id, entries))
            if records:
                yield [(account_id, record) for record in records]


def renamed(url: str, guid: str, times: int) -> list[tuple[str, str]]:
    """Return items of one POST that add a feed with `times` former guids."""
    former = [f"{number:08x}-0000-4000-9000-000000000000" for number in range(times)]
    return [(url, sent) for sent in [*former, guid]]


def _records(kind: int, number: int, account_id: AccountId, entries: int) -> Iterator:
    families = range(entries // ENTRIES_IN_A_FAMILY)
    kept = [entry for family in families for entry in _family(family)]
    if kind == 0:
        clocks = 10**15 + 10 * entries, 10**15 + 3, number % 5 == 0
        lost = number, 10**15 + number, 10**15 + 10 * number, 10**15 + 1, 10**15 + 2
        counts = count(kept)
        told = (f"Zoë{number}", f"$argon2id${number}", number % 7 == 0, 5)
        kept = 10**15 + number, FORMER_STATES_IN_A_FAMILY * len(families)
        identity = number.to_bytes(32) if number % 3 == 0 else None
        account = Account(account_id, *told, *clocks, *lost, identity, len(families), counts)
        yield AccountRecord(account, f"zoë{number}", 7, *kept)
    elif kind == 1:
        yield from _tokens(number)
    elif kind == 2:
        yield from (Deletion(e.deleted, e.guid) for e in kept if _is_deleted(e))
    elif kind < 5:
        chosen = [e for e in kept if isinstance(e, Subscription) == (kind == 3)]
        yield from (_state(e) for e in sorted(chosen, key=lambda entry: entry.guid))
    elif kind == 5:
        former = [state for family in families for state in _former(family)]
        yield from sorted(former, key=lambda state: (state.ended, state.entry.guid))
    elif kind == 6:
        yield from (_label(number, e.guid) for e in sorted(kept, key=lambda e: e.guid))
    elif kind == 7:
        actions = [_action(family) for family in families]
        yield from sorted(actions, key=lambda action: (action.podcast_guid, action.key))
    else:
        for name in ("Tablet", "phone", "é"):
            yield Document("device", name, f'{{"caption":"Zoë\'s {name}"}}')
        yield Document("different-feeds", "", '[{"lower":"a","higher":"b"}]')
        yield Document("preferences", "", '{"language":"de"}')
        yield Document("settings", "phone", '{"a":"\\u0000"}')


def _tokens(number: int) -> Iterator[Token]:
    first = hashlib.sha256(str(number).encode()).digest()
    second = hashlib.sha256(first).digest()
    yield Token(1, first, "phone", 1, 2, 3)
    yield Token(2, second, "", 4, last_sent_subscriptions=10**9, acknowledged_subscriptions=0)
    third = hashlib.sha256(second).digest()
    yield Token(
        3, third, "gPodder", 5, 6, is_session=True, last_sent_actions=10**9, acknowledged_actions=1
    )
    fourth = hashlib.sha256(third).digest()
    yield Token(4, fourth, "Kasts", 5, 6, is_session=True, is_shared=True, of_token=2)
    fifth = hashlib.sha256(fourth).digest()
    yield Token(5, fifth, "AntennaPod", 7, is_granted=True, scope=Scope.READ, last_used=8)
    sixth, purpose = hashlib.sha256(fifth).digest(), Purpose.PAGES
    yield Token(6, sixth, "Firefox", 8, 9, is_session=True, purpose=purpose, last_used=10)
    yield Token(7, hashlib.sha256(sixth).digest(), "", 8, 9, purpose=Purpose.RECOVERY)


def _label(number: int, guid: Guid) -> FeedLabel:
    """One of them is all that its owner typed; pointers keep theirs, too."""
    if number % 2:
        return FeedLabel(guid, "Zoë's", "Täglich / Früh", True, True)
    return FeedLabel(guid, folder="News", is_title_edited=True)


def _action(number: int) -> EpisodeAction:
    """Everything is told, or as little as possible."""
    podcast, episode = _url("plain", number), _url("episode", number)
    key = hashlib.sha256(str(number).encode()).digest()[:16]
    all_told = ("phone", "play", 10**9, 0, number, 2**53 - 1, "tag:é")
    told = ("", "new", 0) if number % 2 else all_told
    revision = 10**15 + number
    action = EpisodeAction(key, _derived(podcast), podcast, episode, *told)
    stored = {"revision": revision, "received": revision - 1, "is_superseded": number % 3 == 0}
    stored |= {"app": "Zoë's phone"} if number % 2 == 0 else {}
    return replace(action, file=key[6:], **stored)


def _family(number: int) -> Iterator[Entry]:
    """A feed that was renamed and moved, one that was deleted, and one that is as it was added."""
    clock = 10**15 + 10 * number
    renamed, moved = Guid(f"{number:08x}-0000-4000-8000-000000000001"), _url("new", number)
    former = _url("old", number)
    had = clock - 5
    yield Subscription(renamed, moved, number % 3 > 0, clock + 2, clock + 2, first_had=had)
    yield Pointer(_derived(moved), renamed, clock + 1)
    yield Pointer(
        _derived(former), renamed, None, Alias(former, number % 2 == 0, first_had=had - 1)
    )
    gone = _url("gone", number)
    yield Subscription(_derived(gone), gone, False, clock + 3, None, clock + 4)
    plain = _url("plain", number)
    yield Subscription(_derived(plain), plain, True, clock + 5)


def _state(entry: Entry) -> EntryState:
    """Some began when no history was kept."""
    if entry.revision is None or entry.revision % 4 == 0:
        return EntryState(entry)
    return EntryState(entry, entry.revision, f'{{"name":"Zoë {entry.revision}"}}')


def _former(number: int) -> Iterator[EntryState]:
    """Former states of the renamed feed, and a deleted pointer."""
    clock = 10**15 + 10 * number
    renamed, former = Guid(f"{number:08x}-0000-4000-8000-000000000001"), _url("old", number)
    app_url = _url("app", number)
    first = Subscription(_derived(former), former, True, clock, app_url=app_url)
    yield EntryState(first, None, "", clock + 1)
    second = replace(first, guid=renamed, guid_changed=clock + 1, first_had=clock - 2)
    yield EntryState(second, clock + 1, '{"name":"Zoë"}', clock + 2)
    alias = Alias(former, moved_away=True, retired=clock, first_had=clock - 1)
    pointer = Pointer(_derived(_url("gone", number)), renamed, clock, alias)
    yield EntryState(pointer, clock, '{"name":"phone"}', clock + 1)


def _url(word: str, number: int) -> str:
    return f"https://feeds.example/{word}/{number}?täg=ü&x={'y' * (number % 40)}"


def _derived(url: str) -> Guid:
    return parse_feed_url(url).guid


def _is_deleted(entry: Entry) -> bool:
    return isinstance(entry, Subscription) and entry.deleted is not None
