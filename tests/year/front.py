"""The service of a year in a process of its own: what HTTP would carry comes over a socket.

A request is a pickled number, the name of a method of `Front`, and its arguments. The clock is what
the last `set_clock` said, so it stands still while a batch of requests is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import pickle
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvloop

from feedkeep.assembly import back_up, open_service
from feedkeep.config.settings import Settings
from feedkeep.model import (
    AccountId,
    Admitted,
    Author,
    CredentialKind,
    Entry,
    PageRequest,
    Second,
    Stamp,
)
from feedkeep.model.errors import FeedkeepError, InvalidInput
from feedkeep.rules.credentials import read_session, read_token
from feedkeep.rules.entry_states import states_at
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_urls import parse_feed_url, parse_new_feed_url
from feedkeep.rules.guids import parse_guid
from feedkeep.rules.subscriptions import Added, Update, want
from feedkeep.service import Service
from feedkeep.service.logins import login_of
from feedkeep.store.sqlite import SqliteStore

OWNER = Author(CredentialKind.BROWSER, name="owner")
NOWHERE = "127.0.0.1"
PROBE = "probe"
ACCOUNTS_AT_ONCE = 1_000


class SetClock:
    """Shows the time that it was told."""

    def __init__(self) -> None:
        self.us = 0

    def __call__(self) -> Stamp:
        return Stamp(self.us)


class Front:
    """Answers requests; each of its public methods is one."""

    def __init__(self, service: Service, settings: Settings, clock: SetClock) -> None:
        self._service = service
        self._settings = settings
        self._clock = clock
        self.answered = 0

    async def set_clock(self, us: int) -> None:
        """Set the clock, in microseconds since 1970."""
        self._clock.us = us

    async def ready(self) -> None:
        """Answer once there is a service."""

    # People and their apps

    async def create_account(self, name: str) -> None:
        await self._service.accounts.create(name, None)

    async def begin_session(self, name: str, label: str) -> str:
        """Sign an app in like an app that sends the password; return its session."""
        account = await self._service.accounts.named(name)
        admitted = Admitted(account, CredentialKind.PASSWORD)
        return (await self._service.logins.begin_session(admitted, label)).text

    async def connect(self, name: str, label: str) -> str:
        """Connect an app by the login of Nextcloud; return its token."""
        logins, account = self._service.logins, await self._service.accounts.named(name)
        secret = logins.begin_login()
        await logins.grant_login(account, login_of(secret), label)
        fetched = await logins.fetch_login(secret)
        assert fetched is not None, "it was granted just now"
        return fetched.text

    async def create_token(self, name: str, label: str) -> str:
        """Return a token for a client of the interface."""
        return (await self._service.tokens.create(name, label, None)).text

    async def disconnect(self, name: str, label: str) -> None:
        """End all that an app of the account, which was lost, has been let in with."""
        account = await self._service.accounts.named(name)
        for app in await self._service.apps.of(account.id):
            if app.name == label:
                await self._service.apps.disconnect(account.id, app.ids[0])

    # Requests of podcast apps

    async def changes(
        self, secret: str, since: int, device: str
    ) -> tuple[list[str], list[str], int]:
        """Return the URLs to add and to remove since a second, and the next second."""
        told = await self._service.url_lists.changes(
            await self._admitted(secret), Second(since), device
        )
        return list(told.changes.add), list(told.changes.removed_texts), told.timestamp

    async def upload(
        self, secret: str, added: Sequence[str], removed: Sequence[str], device: str
    ) -> tuple[int, int, list[tuple[str, str]]]:
        """Carry an upload out; return its second, the clock after it, and `update_urls`."""
        admitted = await self._admitted(secret)
        by = Author(admitted.credential_kind, admitted.token and admitted.token.id, device=device)
        done = await self._service.url_lists.upload(admitted, added, removed, by)
        return done.timestamp, await self._stamp(admitted), list(done.update_urls)

    async def actions(self, secret: str, since: int) -> tuple[list[Any], int]:
        """Return all actions since a second, and the next second."""
        told = await self._service.episode_actions.since(
            await self._admitted(secret), Second(since)
        )
        return [action async for page in told.pages for action in page], told.timestamp

    async def record(self, secret: str, sent: Sequence[SentAction]) -> int:
        """Store actions; return the second to go on from."""
        admitted = await self._admitted(secret)
        return (await self._service.episode_actions.record(admitted, sent)).timestamp

    # Requests of clients of the interface

    async def entries_since(self, secret: str, since: int) -> list[Entry]:
        """Return all entries of the list that changed after a stamp."""
        account = (await self._admitted(secret)).account
        entries: list[Entry] = []
        after = None
        while True:
            request = PageRequest(Stamp(since), after, 1, 1_000)
            page = await self._service.subscriptions.page(account, request)
            entries += [view.entry for view in page.views]
            if not page.has_more:
                return entries
            after = entries[-1].revision

    async def add(self, secret: str, url: str) -> tuple[str | None, int]:
        """Add a feed; return its guid, or None if it was refused, and the account's clock."""
        admitted = await self._admitted(secret)
        made = await self._service.subscriptions.add(
            admitted.account.id, [want(url, None)], _author(admitted)
        )
        (result,) = made.outcome
        guid = result.subscription.guid if isinstance(result, Added) else None
        return guid, await self._stamp(admitted)

    async def update(
        self, secret: str, guid: str, url: str | None, new_guid: str | None, on: bool | None
    ) -> int:
        """Change a subscription; return the account's clock after it."""
        admitted = await self._admitted(secret)
        await self._service.subscriptions.update(
            admitted.account.id,
            guid,
            Update(
                parse_new_feed_url(url) if url is not None else None,
                parse_guid(new_guid) if new_guid is not None else None,
                on,
            ),
            _author(admitted),
        )
        return await self._stamp(admitted)

    async def delete(self, secret: str, guid: str) -> int:
        """Delete a subscription; return the account's clock after it."""
        admitted = await self._admitted(secret)
        await self._service.subscriptions.delete(admitted.account.id, guid, _author(admitted))
        return await self._stamp(admitted)

    # Actions of owners on the pages, and of the service by itself

    async def move(self, name: str, old: str, new: str) -> int | None:
        """Tell all apps of a move; return the account's clock, or None if the move was rejected."""
        account = await self._service.accounts.named(name)
        try:
            await self._service.url_lists.move(account.id, old, new, OWNER, notify_apps=True)
        except InvalidInput:
            return None
        return await self.stamp(name)

    async def follow(self, name: str, old: str, new: str) -> int | None:
        """Follow a feed that moved; return the account's clock, or None if nothing was done."""
        account = await self._service.accounts.named(name)
        follow = self._service.followed_moves.follow
        is_done = await follow(account.id, parse_feed_url(old), parse_feed_url(new))
        return await self.stamp(name) if is_done else None

    async def undo_wipe(self, name: str) -> tuple[int, list[Entry], list[str]] | None:
        """Bring back what the newest wipe of a list removed; None if none is seen.

        It is what one click on the page does, which names the wipe and asks. Returns the list's
        clock and entries, and the guids of what the page names.
        """
        account = await self._service.accounts.named(name)
        whole = await self._service.subscriptions.whole(account.id)
        found = await self._service.history.newest_mass_unsubscribe(account.id, whole, Stamp(0))
        if found is None:
            return None
        await self._service.history.restore_removed(account.id, found[0].stamps, OWNER)
        clock, entries = await self._clock_and_entries(account.id, name)
        return clock, entries, [feed.guid for feed in found[0].feeds]

    async def restore_list(
        self, name: str, moment: int, keep_added: bool
    ) -> tuple[int, list[Entry]]:
        """Bring a list back to what it was; return its clock and entries."""
        account = await self._service.accounts.named(name)
        await self._service.history.restore(
            account.id, Stamp(moment), keep_added=keep_added, author=OWNER
        )
        return await self._clock_and_entries(account.id, name)

    # Actions of operators

    async def forget(self) -> int:
        """Go round all accounts once, and forget what is too old; return the number of steps."""
        after: AccountId | None = AccountId(0)
        steps = 0
        while after is not None:
            after = await self._service.forgetting.step(after)
            steps += 1
        return steps

    async def back_up(self, target: str) -> None:
        """Copy the database to a file, as the command does beside a service."""
        await asyncio.to_thread(back_up, self._settings, Path(target), now=self._clock)

    async def fill_the_disk(self) -> None:
        """Leave no room for another page."""
        writer = self._sqlite()._runner._writer
        writer.pragma("max_page_count", writer.pragma("page_count"))

    async def clear_the_disk(self) -> None:
        """Leave room again."""
        self._sqlite()._runner._writer.pragma("max_page_count", 2**32 - 2)

    def _sqlite(self) -> SqliteStore:
        assert isinstance(self._service.store, SqliteStore)
        return self._service.store

    async def move_clocks(self) -> None:
        """Run `feedkeep database restored`."""
        await self._service.accounts.note_restored()

    # Queries

    async def stamp(self, name: str) -> int:
        """Return an account's clock."""
        return (await self._service.accounts.named(name)).last_stamp

    async def look(
        self, name: str, moments: Sequence[int]
    ) -> tuple[list[Entry], list[list[Entry] | None]]:
        """Return a list's entries, and those of each moment; None if that is not known any more."""
        account = await self._service.accounts.named(name)
        whole = await self._service.store.entries.whole(account.id, Stamp(0))
        assert whole.history is not None, "it was asked for"
        then: list[list[Entry] | None] = []
        for moment in moments:
            states = states_at(whole.history.states, Stamp(moment)).values()
            is_known = moment >= whole.history.known_from
            then.append([state.entry for state in states] if is_known else None)
        return list(whole.entries.values()), then

    async def all_actions(self, name: str) -> list[Any]:
        account = await self._service.accounts.named(name)
        pages = await self._service.episode_actions.all(account.id)
        return [action async for page in pages for action in page]

    async def faults(self) -> list[str]:
        """Return the faults that `feedkeep check` finds."""
        return [damage async for part in self._service.check() for damage in part.faults]

    async def measure(self) -> dict[str, float]:
        """Return the resource use of this process and its database, and their content."""
        entries = subscribed = 0
        async for page in self._service.accounts.by_id():
            entries += sum(account.counts.entries for account in page)
            subscribed += sum(account.counts.subscribed for account in page)
        former_states, after = 0, AccountId(0)
        totals, now = self._service.store.totals, self._clock()
        while counted := await totals.of_accounts(after, ACCOUNTS_AT_ONCE, now):
            former_states += counted.former_states
            after = counted.last
        return {
            "memory_bytes": _anonymous_bytes(),
            "file_bytes": (await self._service.health()).size_bytes,
            "entries": entries,
            "subscribed": subscribed,
            "former_states": former_states,
            "processor_seconds": time.process_time(),
            "requests": self.answered,
        }

    async def probe(self, rounds: int) -> dict[str, float]:
        """Return the cost of an empty poll and of a change, in microseconds of this process.

        They come one after the other on an account of their own, so each is alone.
        """
        with contextlib.suppress(FeedkeepError):
            await self.create_account(PROBE)
        account = await self._service.accounts.named(PROBE)
        admitted = Admitted(account, CredentialKind.PASSWORD)
        secret = (await self._service.logins.begin_session(admitted, PROBE)).text
        since = (await self.changes(secret, 0, PROBE))[2]
        began, polled = time.perf_counter(), time.process_time()
        for _ in range(rounds):
            _, _, since = await self.changes(secret, since, PROBE)
        poll = time.process_time() - polled, time.perf_counter() - began
        began, changed = time.perf_counter(), time.process_time()
        for number in range(rounds):
            url = [f"https://feeds.example/probe/{number // 2}"]
            await self.upload(secret, *((url, []) if number % 2 == 0 else ([], url)), PROBE)
        change = time.process_time() - changed, time.perf_counter() - began
        names = ("poll_processor", "poll_wall", "change_processor", "change_wall")
        spent = zip(names, (*poll, *change), strict=True)
        return {f"{name}_us": seconds_ / rounds * 1e6 for name, seconds_ in spent}

    async def _admitted(self, secret: str) -> Admitted:
        credential = read_session(secret) or read_token(secret)
        assert credential is not None, "what this service gave"
        admitted = await self._service.authentication.admit(credential, NOWHERE)
        if admitted.token is not None and admitted.token.is_session:
            await self._service.logins.extend_session(admitted.account.id, admitted.token)
        return admitted

    async def _stamp(self, admitted: Admitted) -> int:
        return await self.stamp(admitted.account.name)

    async def _clock_and_entries(self, account_id: AccountId, name: str) -> tuple[int, list[Entry]]:
        entries = (await self._service.subscriptions.whole(account_id)).entries
        # In an order that no store chooses, so that what people do next follows from the seed.
        return await self.stamp(name), sorted(entries.values(), key=lambda entry: entry.guid)


def _author(admitted: Admitted) -> Author:
    return Author(admitted.credential_kind, admitted.token and admitted.token.id)


def _anonymous_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
    return int(line.split()[1]) * 1024


async def serve(connection: socket.socket, settings: Settings, us: int) -> None:
    """Answer the requests on a socket, until its other end is closed."""
    clock = SetClock()
    clock.us = us
    reader, writer = await asyncio.open_connection(sock=connection)
    async with open_service(settings, now=clock) as service:
        front = Front(service, settings, clock)

        async def answer(number: int, name: str, arguments: Sequence[Any]) -> None:
            try:
                reply = (number, await getattr(front, name)(*arguments), "", "")
            except FeedkeepError as error:
                reply = (number, None, type(error).__name__, str(error))
            front.answered += 1
            send(writer, reply)

        async with asyncio.TaskGroup() as answering:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    number, name, arguments = await receive(reader)
                    answering.create_task(answer(number, name, arguments))


def send(writer: asyncio.StreamWriter, message: object) -> None:
    body = pickle.dumps(message)
    writer.write(len(body).to_bytes(4, "big") + body)


async def receive(reader: asyncio.StreamReader) -> Any:
    size_bytes = int.from_bytes(await reader.readexactly(4), "big")
    return pickle.loads(await reader.readexactly(size_bytes))  # noqa: S301 - from our other end


def main() -> None:
    """Serve; the arguments are a descriptor, a database, a time, and modules to import first."""
    descriptor, database, us, *first = sys.argv[1:]
    for module in first:
        importlib.import_module(module)
    settings = Settings(database=database)
    uvloop.run(serve(socket.socket(fileno=int(descriptor)), settings, int(us)))


if __name__ == "__main__":
    main()
