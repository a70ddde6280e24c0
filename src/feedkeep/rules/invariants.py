"""Invariants of an account's entries (contract, section 3). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from feedkeep.model import Entry, Guid, Pointer, Snapshot, Subscription
from feedkeep.model.entry_index import target_guid
from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.counts import count
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import MAX_POINTERS


def violations(whole: Snapshot) -> Iterator[str]:
    """Yield a sentence for each violation in an account's list."""
    known = whole.entries
    if whole.counts != (found := count(known.values())):
        yield f"the stored counts of the list are {whole.counts}, but it has {found}"
    revisions = Counter(entry.revision for entry in known.values() if entry.revision is not None)
    yield from (f"stamp {stamp} is used {n} times" for stamp, n in revisions.items() if n > 1)
    yield from (
        f"stamp {stamp} is after the clock" for stamp in revisions if stamp > whole.last_stamp
    )
    yield from entry_violations(known)


def action_violations(counted: int, found: int) -> Iterator[str]:
    """Yield a sentence if the stored weight of an account's episode actions is wrong."""
    if counted != found:
        yield f"the stored count of episode actions is {counted}, but it should be {found}"


def entry_violations(known: Mapping[Guid, Entry]) -> Iterator[str]:
    """Yield a sentence for each violation in an account's entries, without stamps and counts."""
    pointers = Counter(entry.new_guid for entry in known.values() if isinstance(entry, Pointer))
    yield from (f"{n} pointers lead to {guid}" for guid, n in pointers.items() if n > MAX_POINTERS)
    for entry in known.values():
        if isinstance(entry, Pointer):
            if not isinstance(known.get(entry.new_guid), Subscription):  # C3.6, C3.9
                yield f"pointer {entry.guid} does not lead to a subscription"
        else:
            yield from _subscription_violations(entry, known)


def _subscription_violations(
    subscription: Subscription, known: Mapping[Guid, Entry]
) -> Iterator[str]:
    try:
        derived = parse_feed_url(subscription.feed_url).guid
    except InvalidFeedUrl:
        yield f"the feed URL of {subscription.guid} is not valid"
        return
    found = known.get(derived)
    if found is None or target_guid(found) != subscription.guid:
        yield f"the feed URL of {subscription.guid} does not lead to it"
    if found is not None and found.alias is not None:
        yield f"the present feed URL of {subscription.guid} is stored as a former one, too"
    if subscription.deleted is not None and subscription.is_subscribed:
        yield f"{subscription.guid} is deleted and subscribed"
    if subscription.status_changed > subscription.revision:
        yield f"apps are sent {subscription.guid} later than it changed"
    if subscription.app_url == subscription.feed_url:
        yield f"apps have {subscription.guid} by its present URL, and by another one"
