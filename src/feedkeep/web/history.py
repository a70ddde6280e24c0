"""History pages: changes, undo, and restoring the list to an earlier time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

from starlette.responses import Response

from feedkeep.http.error_responses import BAD_REQUEST, CONFLICT, OK
from feedkeep.http.pages.forms import Form, read_form, read_number
from feedkeep.http.pages.notes import Note
from feedkeep.http.requests import AdmittedRequest
from feedkeep.model import AccountId, Stamp, replace
from feedkeep.model.errors import ChangedSince, InvalidInput, Sentence, UnknownChange
from feedkeep.rules.clock import DAY_US, MINUTE_US, shift
from feedkeep.rules.guids import guid_or_none
from feedkeep.rules.list_changes import in_kinds, is_back
from feedkeep.rules.undo import ConflictPolicy, ListRestored, Undo
from feedkeep.runtime.cooperative import in_thread_if
from feedkeep.service.history import NEWEST
from feedkeep.web.changes import FEEDS_OF_A_CHANGE, change_of, lines_of, shown_urls, urls_of
from feedkeep.web.page import Page, stamps_text
from feedkeep.web.rows import place_of

PLACE = "/changes"

_AHEAD_US = 366 * DAY_US
_MAX_STAMPS = 500
_MAX_FIELDS = 100
_MAX_PLACE_CHARACTERS = 2_000


class ListHistoryPage(Page):
    """/changes and the pages below it."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Show changes, newest first."""
        return await self._history(request)

    async def undo(self, request: AdmittedRequest) -> Response:
        """Undo changes; ask what to do about feeds that changed again since."""
        form = await read_form(request, max_fields=_MAX_FIELDS)
        account_id, wanted = request.admitted.account.id, _wanted(form)
        back = form.text("back")
        try:
            done = await self.service.history.undo(account_id, wanted, request.author())
        except ChangedSince as error:
            return await self._ask(request, wanted, error, back)
        except UnknownChange:
            return self.redirect(request, PLACE, Note("unknown-change"))
        except InvalidInput as error:
            return await self._history(request, BAD_REQUEST, problems={"undo": error.sentence})
        place = await self._local(account_id, back)
        return self.redirect(request, place, await self._note(account_id, done))

    async def rescue(self, request: AdmittedRequest) -> Response:
        """Restore the feeds that a mass unsubscribe removed."""
        form = await read_form(request)
        account_id = request.admitted.account.id
        try:
            done = await self.service.history.restore_removed(
                account_id, _stamps(form.text("stamps")), request.author()
            )
        except InvalidInput as error:
            return await self._history(request, BAD_REQUEST, problems={"undo": error.sentence})
        place = await self._local(account_id, form.text("back"))
        return self.redirect(request, place, await self._note(account_id, done))

    async def dismiss_mass_unsubscribe(self, request: AdmittedRequest) -> Response:
        """Dismiss the question about a mass unsubscribe."""
        form = await read_form(request)
        stamps = _stamps(form.text("stamps"))
        if stamps:
            await self.service.preferences.dismiss_mass_unsubscribe(
                request.admitted.account.id, max(stamps)
            )
        place = await self._local(request.admitted.account.id, form.text("back"))
        return self.redirect(request, place, Note("meant"))

    async def choose(self, request: AdmittedRequest) -> Response:
        """Choose a time, and preview restoring the list to it."""
        at, local = request.query("at"), request.query("moment")
        if not at and not local:
            return await self._restore(request)
        moment = self._moment(at)
        if local:
            read = (await self.localizer(request)).read_local(local)
            if read is None:
                problem = Sentence("Choose a day and a time.")
                return await self._restore(request, BAD_REQUEST, problems={"moment": problem})
            moment = self._within_time(read)
        return await self._preview(request, moment, keep_added=request.query("keep") != "0")

    async def restore(self, request: AdmittedRequest) -> Response:
        """Restore the list to an earlier time."""
        form = await read_form(request)
        moment, keep_added = self._moment(form.text("at")), form.text("keep") != "0"
        account_id = request.admitted.account.id
        try:
            done = await self.service.history.restore(
                account_id, moment, keep_added=keep_added, author=request.author()
            )
        except InvalidInput as error:
            return await self._restore(
                request, BAD_REQUEST, moment=moment, problems={"moment": error.sentence}
            )
        if done.stamp is None:
            return self.redirect(request, PLACE, Note("nothing-changed"))
        values: dict[str, str | int | bool | list[str]] = {
            "count": done.feeds,
            "moment": moment,
            "stamps": stamps_text([done.stamp]),
        }
        return self.redirect(request, PLACE, Note("restored", values))

    async def _history(self, request: AdmittedRequest, status: int = OK, **values: Any) -> Response:
        account = request.admitted.account
        if not self.service.history.days:
            return await self.show(
                request, "history.html", status, lines=[], days=0, mass_unsubscribe=None, **values
            )
        before = read_number(request.query("before"))
        listed = await self.service.history.page(
            account.id, NEWEST if before is None else Stamp(before)
        )
        lines = await in_thread_if(
            True,
            lines_of,
            listed,
            await self.devices(account.id, listed.authors.values()),
            await self.titles(request, shown_urls(listed)),
        )
        whole = await self.service.subscriptions.whole(account.id)
        return await self.show(
            request,
            "history.html",
            status,
            is_long=True,
            lines=lines,
            days=self.service.history.days,
            mass_unsubscribe=await self.mass_unsubscribe(request, whole),
            is_newest=before is None,
            has_more=listed.has_more,
            known_from=max(listed.known_from, account.created),
            is_all=listed.known_from <= account.created,
            now=self.service.now(),
            **values,
        )

    async def _ask(
        self, request: AdmittedRequest, wanted: Undo, error: ChangedSince, back: str
    ) -> Response:
        """Show the later changes, and ask what to do about them."""
        account_id = request.admitted.account.id
        newest = Stamp(error.stamps[0])
        listed = await self.service.history.page(account_id, shift(newest, 1))
        since = [change for change in listed.changes if change.stamp in set(error.stamps)]
        lines = await in_thread_if(
            True,
            lines_of,
            replace(listed, changes=since, has_more=False),
            await self.devices(account_id, listed.authors.values()),
            await self.titles(request, shown_urls(listed)),
        )
        leaving = replace(wanted, when_changed=ConflictPolicy.LEAVE)
        others = await self.service.history.preview_undo(account_id, leaving)
        return await self.show(
            request,
            "changed_since.html",
            CONFLICT,
            is_long=True,
            lines=lines,
            more=len(error.stamps) - len(since),
            count=error.feeds,
            others=len({feed.guid for feed in others.feeds}),
            stamps=stamps_text(wanted.stamps),
            guids=wanted.guids or (),
            back=await self._local(account_id, back),
            now=self.service.now(),
        )

    async def _preview(
        self, request: AdmittedRequest, moment: Stamp, *, keep_added: bool
    ) -> Response:
        account_id = request.admitted.account.id
        try:
            preview = await self.service.history.preview(account_id, moment, keep_added=keep_added)
        except InvalidInput as error:
            return await self._restore(
                request, BAD_REQUEST, moment=moment, problems={"moment": error.sentence}
            )
        kinds = in_kinds(preview.feeds)
        all_kinds = (kinds.back, kinds.gone, kinds.others)
        shown = [feeds[:FEEDS_OF_A_CHANGE] for feeds in all_kinds]
        titles = await self.titles(request, set().union(*map(urls_of, shown)))
        return await self._restore(
            request,
            moment=moment,
            keep_added=keep_added,
            ahead_until=preview.ahead_until,
            counts=[*map(len, all_kinds)],
            back=[change_of(feed, titles) for feed in shown[0]],
            gone=[change_of(feed, titles) for feed in shown[1]],
            others=[change_of(feed, titles) for feed in shown[2]],
        )

    async def _restore(self, request: AdmittedRequest, status: int = OK, **values: Any) -> Response:
        account = request.admitted.account
        known_from = account.created
        if self.service.history.days:
            known_from = max(await self.service.history.known_from(account.id), account.created)
        return await self.show(
            request,
            "restore.html",
            status,
            days=self.service.history.days,
            # Rounded up to a whole minute: form fields have no seconds.
            known_from=shift(known_from, MINUTE_US - 1),
            now=self.service.now(),
            **({"moment": None, "counts": None, "ahead_until": None} | values),
        )

    async def _note(self, account_id: AccountId, done: ListRestored) -> Note:
        """Return the next page's note about an undo."""
        if done.stamp is None:
            return Note("nothing-to-take-back")
        feeds = await self.service.history.feeds_of_change(account_id, done.stamp)
        values: dict[str, str | int | bool | list[str]] = {
            "count": done.feeds,
            "left": done.left,
            "stamps": stamps_text([done.stamp]),
        }
        return Note("back" if feeds and all(map(is_back, feeds)) else "taken-back", values)

    def _moment(self, text: str) -> Stamp:
        return self._within_time(Stamp(read_number(text) or 0))

    def _within_time(self, moment: Stamp) -> Stamp:
        """Clamp to times that a calendar has. A list's clock may be a day ahead of ours."""
        return max(Stamp(0), min(moment, shift(self.service.now(), _AHEAD_US)))

    async def _local(self, account_id: AccountId, place: str) -> str:
        """Return a path of this service to redirect to; never the page of a deleted feed."""
        if place in {"/", PLACE}:
            return place
        if place.startswith("/?"):
            asked = dict(parse_qsl(place[2:_MAX_PLACE_CHARACTERS]))
            return place_of(lambda name: asked.get(name, ""))
        guid = guid_or_none(place.removeprefix("/feeds/"))
        view = await self.service.subscriptions.view(account_id, guid) if guid else None
        is_there = view is not None and view.subscription.deleted is None
        return f"/feeds/{guid}" if is_there else "/"


def _wanted(form: Form) -> Undo:
    when = form.text("when")
    guids = [guid for text in form.several("guid") if (guid := guid_or_none(text))]
    return Undo(
        _stamps(form.text("stamps")),
        guids if form.several("guid") else None,
        ConflictPolicy(when) if when in set(ConflictPolicy) else ConflictPolicy.ASK,
    )


def _stamps(text: str) -> Sequence[Stamp]:
    numbers = (read_number(part) for part in text.split(",")[:_MAX_STAMPS])
    return [Stamp(number) for number in numbers if number is not None]
