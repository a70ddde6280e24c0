"""Moving in from another server: feeds by a preview, then episode actions in the background."""

from __future__ import annotations

import asyncio
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.formats.listed_feed import ListedFeed, check_count
from feedkeep.http.error_responses import BAD_REQUEST
from feedkeep.http.pages.forms import Form, read_form
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.requests import AdmittedRequest
from feedkeep.model import Account, AccountId, Failure, Fetch, Value
from feedkeep.model.errors import InvalidInput, Sentence, TooManyAttempts
from feedkeep.outbound.policy import policy_of
from feedkeep.remote.errors import (
    InvalidAddress,
    NeverAnswers,
    NotAccepted,
    NotThere,
    Refused,
    RemoteError,
    ServerMoved,
)
from feedkeep.rules.feed_names import WHY
from feedkeep.rules.feed_urls import as_typed
from feedkeep.security.throttle import remote_limits
from feedkeep.service import Service
from feedkeep.service.migrations import Moving
from feedkeep.web.authenticator import seal, session_of, unseal
from feedkeep.web.imports import ImportPage
from feedkeep.web.page import Page, headers_of, status_of

if TYPE_CHECKING:
    from feedkeep.remote.other_servers import Remote

PLACE = "/import"

READ_SECONDS = 60.0
"""Timeout of reading the feeds of another server."""

MAX_REPLY_BYTES = 4 * 1024 * 1024
"""Maximum size of a reply: 25,000 episode actions. Parsing it delays all requests by 25 ms at most.
"""

MAX_READING = 8
"""Maximum number of accounts for which a process reads lists of other servers concurrently."""

_SEALED_SECONDS = 3_600
_PURPOSE = "another server"
_NOT_ACCEPTED = Sentence("That server does not accept this name with this password.")
_NOT_THERE = Sentence("That server has no such account, or does not sync podcasts.")
_REFUSED = Sentence(
    "feedkeep may not contact that server. The person who runs this feedkeep can copy your account."
)
_INVALID = Sentence("This is not the address of a server, such as https://gpodder.net.")
_NOT_TRUSTED = Sentence(
    "feedkeep cannot connect to that server securely: its certificate is missing or invalid."
)
_BROKEN = Sentence("That server cannot be read now. Try again later.")
_BUSY = Sentence("Others are moving in right now. Try again in a few minutes.")
_TOO_MANY = Sentence("That server refused too many passwords. Try again in five minutes.")
_INTERRUPTED = Sentence("It was interrupted.")
_INCOMPLETE = Sentence("Type the address of the server, your name there, and its password.")


class OtherAccount(Value, frozen=True):
    """An account on another server."""

    url: str
    name: str
    password: str


_OTHER_ACCOUNT = msgspec.json.Decoder(OtherAccount)


class MoveInPage(Page):
    """/import/from and the form of its preview.

    The other server's password exists in memory and, encrypted, in the preview's form; it is not
    stored. Copying is idempotent, so an interrupted move continues where it stopped.
    """

    def __init__(
        self, service: Service, settings: Settings, pages: Pages, imports: ImportPage
    ) -> None:
        super().__init__(service, settings, pages)
        self._imports = imports
        self._reading: set[AccountId] = set()

    async def read(self, request: AdmittedRequest) -> Response:
        """Read the feeds of an account on another server, and preview adding them."""
        form = await read_form(request)
        account_id = request.admitted.account.id
        other = OtherAccount(
            as_typed(form.text("server")), form.text("name").strip(), form.text("password")
        )
        if not all((form.text("server").strip(), other.name, other.password)):
            return await self._refused(request, form, _INCOMPLETE)
        if self.settings.fetch is Fetch.OFF:
            return await self._refused(request, form, _REFUSED)
        if "@" in other.url.partition("://")[2].partition("/")[0]:  # a password, perhaps
            return await self._refused(request, form, _INVALID)
        is_busy = account_id in self._reading or len(self._reading) >= MAX_READING
        if is_busy or not self.service.migrations.may_begin(account_id):
            return await self._refused(request, form, _BUSY)
        self._reading.add(account_id)
        try:
            await _import_what_asks()
            limits = remote_limits(account_id, request.address, urlsplit(other.url).netloc.lower())
            with self.service.refusals.counted(limits, NotAccepted):
                feeds = await self._feeds(other)
            source = seal(session_of(request), _PURPOSE, msgspec.json.encode(other))
            return await self._imports.show_preview(request, feeds, source=source)
        except TooManyAttempts as error:
            response = await self._refused(request, form, _TOO_MANY, status_of(error))
            response.headers.update(headers_of(error))
            return response
        except (RemoteError, TimeoutError) as error:
            return await self._refused(request, form, _problem(error))
        except InvalidInput as error:
            return await self._refused(request, form, error.sentence)
        finally:
            self._reading.remove(account_id)

    async def carry_out(self, request: AdmittedRequest) -> Response:
        """Add the new feeds of a preview, and start copying episode actions."""
        form = await self._imports.read_preview(request)
        place, note = await self._imports.add_chosen(request, form)
        sealed = unseal(session_of(request), _PURPOSE, form.text("source"), _SEALED_SECONDS)
        if sealed is not None:
            await self._begin(request.admitted.account, _OTHER_ACCOUNT.decode(sealed))
            place = PLACE
        return self.redirect(request, place, note)

    async def _begin(self, account: Account, other: OtherAccount) -> None:
        migrations = self.service.migrations
        if migrations.may_begin(account.id):
            migrations.begin(account.id, partial(self._copy, account, other))
            return
        under_way = await migrations.moving(account.id)
        if under_way is None or not under_way.is_under_way(self.service.now()):
            await self._note(account, other, 0, problem=_BUSY)

    async def _copy(self, account: Account, other: OtherAccount) -> None:
        """Copy episode actions; store the progress for the pages of all processes."""
        await _import_what_asks()
        from feedkeep.remote.other_servers import Copied, copy_actions  # noqa: PLC0415 - as `_remote`

        where, done = f"{other.url} {other.name}", 0
        await self._note(account, other, done)

        async def told(copied: Copied) -> None:
            nonlocal done
            done = copied.done
            await self._note(account, other, done)

        try:
            async with self._remote(other) as remote:
                await remote.devices()
                await copy_actions(self.service, account, remote, where, told)
        except RemoteError as error:
            await self._note(account, other, done, problem=_problem(error))
        except asyncio.CancelledError:  # after an hour, or when the process stops
            await self._note(account, other, done, problem=_INTERRUPTED)
            raise
        else:
            await self._note(account, other, done, is_done=True)

    async def _note(
        self,
        account: Account,
        other: OtherAccount,
        done: int,
        *,
        is_done: bool = False,
        problem: Sentence | None = None,
    ) -> None:
        host = urlsplit(other.url).netloc
        why = "" if problem is None else problem.text.format_map(problem.values)
        moving = Moving(host, self.service.now(), done, is_done, why)
        await self.service.migrations.note_moving(account.id, moving)

    async def _feeds(self, other: OtherAccount) -> list[ListedFeed]:
        async with asyncio.timeout(READ_SECONDS), self._remote(other) as remote:
            urls = await remote.subscriptions(await remote.devices())
            check_count(len(urls), self.settings.max_items)
            return [
                ListedFeed(number, url, None, title=remote.titles.get(url, ""), folder="")
                for number, url in enumerate(urls, 1)
            ]

    def _remote(self, other: OtherAccount) -> Remote:
        """Return a client of another server that requests only what `fetch_*` permits.

        Any account can name the server, so its port must be permitted, too.
        """
        from feedkeep.remote.other_servers import Remote  # noqa: PLC0415 - aiohttp imports slowly

        policy = policy_of(self.settings)
        return Remote(
            other.url,
            other.name,
            other.password,
            policy,
            any_port=False,
            max_bytes=MAX_REPLY_BYTES,
        )

    async def _refused(
        self, request: AdmittedRequest, form: Form, problem: Sentence, status: int = BAD_REQUEST
    ) -> Response:
        return await self._imports.show_forms(
            request, status, typed=form, problems={"server": problem}
        )


async def _import_what_asks() -> None:
    """Import aiohttp without blocking the event loop."""
    await asyncio.to_thread(import_module, "feedkeep.remote.other_servers")


def _problem(error: Exception) -> Sentence:
    match error:
        case NotAccepted():
            return _NOT_ACCEPTED
        case NotThere():
            return _NOT_THERE
        case Refused():
            return _REFUSED
        case InvalidAddress():
            return _INVALID
        case NeverAnswers(kind=Failure.NO_SUCH_HOST):
            return WHY[Failure.NO_SUCH_HOST]
        case NeverAnswers():
            return _NOT_TRUSTED
        case ServerMoved():
            return Sentence("That server is at {place}: use that address.", {"place": error.origin})
        case _:
            return _BROKEN
