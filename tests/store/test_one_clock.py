"""A service and its store live by the clock that they are given, whatever the system's says."""

from collections.abc import Sequence

from stores import service_on

from feedkeep.model import (
    ActionDecision,
    ActionSnapshot,
    Decision,
    EpisodeAction,
    Guid,
    Snapshot,
    Stamp,
)
from feedkeep.model.errors import NotAuthorized
from feedkeep.rules.credentials import read_token
from feedkeep.service import Service
from feedkeep.store.base import Store

DAY_US = 86_400_000_000
GUID = Guid("00000000-0000-4000-8000-000000000001")
ACTION = EpisodeAction(
    b"\1" * 16, GUID, "https://a.example", "https://a.example/1", "", "new", 0, file=bytes(10)
)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.stamp = Stamp(5)

    def __call__(self) -> Stamp:
        return self.stamp


async def moments(store: Store, service: Service) -> list[Stamp]:
    """Return the moments that rules are given, of entries and of actions."""
    account = await service.accounts.create("alice", None)
    seen = [account.created]

    def look(given: Snapshot) -> Decision[None]:
        seen.append(given.now)
        return Decision(None, [], [], given.last_stamp, given.counts)

    def look_at_actions(given: ActionSnapshot, _: Sequence[EpisodeAction]) -> ActionDecision:
        seen.append(given.now)
        return ActionDecision([], given.last_stamp)

    await store.entries.change(account.id, [GUID], look)
    await store.entries.change(account.id, None, look)
    await store.episode_actions.record(account.id, [ACTION], look_at_actions, max)
    seen.append((await store.entries.whole(account.id)).now)
    return seen


async def let_in(service: Service, token: str) -> bool:
    shown = read_token(token)
    assert shown is not None
    try:
        await service.authentication.admit(shown, "192.0.2.1")
    except NotAuthorized:
        return False
    return True


async def test_rules_and_tokens_live_by_the_clock_that_is_given(open_store):
    clock = Clock()
    async with open_store(clock) as store:
        service = service_on(store, clock)
        assert await moments(store, service) == [5] * 5
        made = await service.tokens.create("alice", "", 1)
        assert (made.token.created, made.token.expires) == (5, 5 + DAY_US)
        assert await let_in(service, made.text)
        clock.stamp = made.token.expires
        assert not await let_in(service, made.text)
