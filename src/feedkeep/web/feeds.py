"""The list of feeds with their pictures: showing it, adding, unsubscribing, and folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from feedkeep.http.cookies import GRANTED_APPS, LOOK, read_cookie, set_cookie
from feedkeep.http.error_responses import OK
from feedkeep.http.json_bodies import encode
from feedkeep.http.pages.forms import Form, read_form, read_number
from feedkeep.http.pages.notes import Note
from feedkeep.http.requests import AdmittedRequest
from feedkeep.http.responses import JsonResponse
from feedkeep.model import Snapshot, Stamp, Subscription
from feedkeep.model.errors import InvalidInput, UnknownSubscription
from feedkeep.rules import subscriptions
from feedkeep.rules.feed_labels import MAX_FOLDER, Labels, typed_folder
from feedkeep.rules.feed_names import Headline
from feedkeep.rules.notices import Notice
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.web.authenticator import HOME
from feedkeep.web.news import notice_row
from feedkeep.web.page import Page, stamps_text, status_of
from feedkeep.web.rows import (
    MAX_WORDS_CHARACTERS,
    Checking,
    Filter,
    checking,
    listing,
    live,
    look_of,
    look_text,
    place_of,
    view_folder,
    view_of,
)

_NEWS_SHOWN = 3
_UNCHANGED = Note("nothing-changed")
_MAX_SHARED_CHARACTERS = 4_000


class FeedsPage(Page):
    """/ and its forms."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Show the list of feeds; an address that an app shared is filled in, not added."""
        shared = shared_address(request.query("url"), request.query("text"))
        response = await self.show_list(request, typed=Form({"urls": [shared]} if shared else {}))
        if request.query("order") or request.query("view"):
            look = look_text(look_of(request.query, read_cookie(request, LOOK)))
            response.headers.append("set-cookie", set_cookie(request, LOOK, look))
        return response

    async def above_forms(self, request: AdmittedRequest) -> Response:
        """Redirect to the list."""
        return self.redirect(request, HOME)

    async def changed(self, request: AdmittedRequest) -> Response:
        """Tell whether the list changed or more feeds were checked since the page was made."""
        account, checked = request.admitted.account, read_number(request.query("checked"))
        has_changed = account.last_stamp > _stamp(request.query("since"))
        if not has_changed and checked is not None:
            snapshot = await self.service.subscriptions.whole(account.id)
            feeds = await in_thread_if(len(snapshot.entries) > LONG_LIST, live, snapshot)
            known = await self.service.known_feeds.headlines(feeds)
            waits = await self._checking(feeds, known)
            has_changed = waits is None or waits.done > checked
        return JsonResponse(encode({"changed": has_changed}))

    async def unsubscribe(self, request: AdmittedRequest) -> Response:
        """Unsubscribe from selected feeds."""
        return await self._set_subscribed(request, False)

    async def subscribe(self, request: AdmittedRequest) -> Response:
        """Subscribe again to selected feeds."""
        return await self._set_subscribed(request, True)

    async def file(self, request: AdmittedRequest) -> Response:
        """Move selected feeds into a folder, or out of their folders."""
        form = await self._selection(request)
        back, guids, folder = (
            place_of(form.text),
            form.several("feed"),
            typed_folder(form.text("to")),
        )
        if not guids:
            return self.redirect(request, back, Note("nothing-chosen"))
        if form.text("by") and not folder:  # Enter was pressed on a checkbox, without JavaScript
            return self.redirect(request, back, _UNCHANGED)
        count = await self.service.feed_labels.file(request.admitted.account.id, guids, folder)
        note = Note("filed", {"count": count, "name": folder}) if count else _UNCHANGED
        return self.redirect(request, back, note)

    async def rename_folder(self, request: AdmittedRequest) -> Response:
        """Rename a folder, with the folders inside it."""
        form = await read_form(request)
        folder, name = view_folder(form.text("folder")), typed_folder(form.text("name"))
        try:
            await self.service.feed_labels.rename_folder(request.admitted.account.id, folder, name)
        except InvalidInput as error:
            problems = {"name": error.sentence}
            return await self._part(
                request, form.text, status_of(error), typed=form, problems=problems
            )
        return self.redirect(request, place_of(Form({"folder": [name]}).text), Note("saved"))

    async def remove_folder(self, request: AdmittedRequest) -> Response:
        """Remove a folder, with the folders inside it; their feeds stay in the list."""
        folder = view_folder((await read_form(request)).text("folder"))
        count = await self.service.feed_labels.remove_folder(request.admitted.account.id, folder)
        note = Note("folder-removed", {"name": folder}) if count else _UNCHANGED
        return self.redirect(request, HOME, note)

    async def _selection(self, request: AdmittedRequest) -> Form:
        fields = 2 * self.settings.max_subscriptions
        return await read_form(request, self.settings.max_body_bytes, fields)

    async def _set_subscribed(self, request: AdmittedRequest, is_subscribed: bool) -> Response:
        form = await self._selection(request)
        guids = form.several("only") or form.several("feed")
        back = place_of(form.text)
        if not guids:
            return self.redirect(request, back, Note("nothing-chosen"))
        account_id = request.admitted.account.id
        try:
            changed = await self.service.subscriptions.set_subscribed(
                account_id, guids, is_subscribed, request.author()
            )
        except InvalidInput as error:
            problems = {"list": error.sentence}
            return await self._part(request, form.text, status_of(error), problems=problems)
        names = []
        if changed.outcome == len(guids) == 1:  # of several, the first may not be the changed one
            view = await self.service.subscriptions.view(account_id, guids[0])
            names = [view.subscription.feed_url] if view else []
        kind = "subscribed" if is_subscribed else "unsubscribed"
        note = await self.note(request, kind, changed.outcome, changed.stamp, names)
        return self.redirect(request, back, note)

    async def show_list(
        self, request: AdmittedRequest, status: int = OK, is_long: bool = False, **values: Any
    ) -> Response:
        """Show the list with other values than it has by itself; `is_long`: some are long."""
        return await self._part(request, request.query, status, is_long, **values)

    async def _part(
        self,
        request: AdmittedRequest,
        asked: Callable[[str], str],
        status: int,
        is_long: bool = False,
        **values: Any,
    ) -> Response:
        """Show a part of the list, by the query or form values that `asked` returns.

        `is_long`: the page also has a long text.
        """
        snapshot = await self.service.subscriptions.whole(request.admitted.account.id)
        is_long = is_long or len(snapshot.entries) > LONG_LIST
        shown, folder, now = asked("show"), view_folder(asked("folder")), self.service.now()
        look = look_of(asked, read_cookie(request, LOOK))
        is_whole = not shown and not asked("q") and not folder
        show = Filter(shown) if shown in set(Filter) else Filter.SUBSCRIBED
        feeds = await in_thread_if(is_long, live, snapshot)
        known = await self.service.known_feeds.headlines(feeds)
        waits = await self._checking(feeds, known)
        apart = await self.service.not_duplicates.of(request.admitted.account.id)
        labels = await self.service.feed_labels.of(request.admitted.account.id)
        listed = await in_thread_if(
            is_long,
            lambda: listing(
                snapshot,
                known,
                now,
                apart=apart,
                labels=labels,
                show=show,
                order=look.order,
                words=asked("q")[:MAX_WORDS_CHARACTERS],
                page=read_number(asked("page")) or 0,
                folder=folder,
            ),
        )
        unsubscribed = await in_thread_if(is_long, subscriptions.count_unsubscribed, snapshot)
        return await self.show(
            request,
            "feeds.html",
            status,
            is_long=is_long,
            listing=listed,
            shown=show,
            view=view_of(asked),
            is_subscribed=show != Filter.UNSUBSCRIBED,
            is_grid=look.is_grid,
            folder=folder,
            max_folder=MAX_FOLDER,
            query=asked("q")[:MAX_WORDS_CHARACTERS],
            stamp=snapshot.last_stamp,
            subscribed_count=snapshot.counts.subscribed,
            unsubscribed_count=unsubscribed,
            mass_unsubscribe=await self.mass_unsubscribe(request, snapshot),
            checking=waits,
            now=now,
            **await self._news(request, snapshot, known, labels, is_whole=is_whole),
            **values,
        )

    async def _news(
        self,
        request: AdmittedRequest,
        snapshot: Snapshot,
        known: Mapping[str, Headline],
        labels: Labels,
        *,
        is_whole: bool,
    ) -> dict[str, Any]:
        """Return the template values of the news above the list; only whole lists have news."""
        news: list[Notice] = []
        if is_whole:  # a search sends a request for every few letters
            account_id, seen = request.admitted.account.id, await self.preferences_of(request)
            granted = read_cookie(request, GRANTED_APPS)
            news = await self.news(account_id, snapshot, known, labels, seen, granted)
        return {
            "news": [notice_row(notice) for notice in news[:_NEWS_SHOWN]],
            "more_news": max(0, len(news) - _NEWS_SHOWN),
            "news_until": news[0].at if news else 0,
        }

    async def _checking(
        self, feeds: Sequence[Subscription], known: Mapping[str, Headline]
    ) -> Checking | None:
        now, fetch = self.service.now(), self.settings.fetch
        return await in_thread_if(len(feeds) > LONG_LIST, checking, feeds, known, fetch, now)

    async def note(
        self,
        request: AdmittedRequest,
        kind: str,
        count: int,
        stamp: Stamp | None,
        urls: Sequence[str],
    ) -> Note:
        """Return the next page's note about a change, with the stamp that undoes it."""
        if not count:
            return _UNCHANGED
        return Note(
            kind,
            {
                "count": count,
                "stamps": stamps_text([stamp] if stamp else []),
                "name": await self.name(request, urls[0]) if len(urls) == 1 else "",
            },
        )


def shared_address(*texts: str) -> str:
    """Return the first URL in shared texts, or else the texts themselves.

    Android apps put the URL into the text, often after a title.
    """
    some = [text[:_MAX_SHARED_CHARACTERS] for text in texts]
    words = (word for text in some for word in text.split())
    return next((word for word in words if "://" in word), "") or " ".join(some).strip()


def _stamp(text: str) -> Stamp:
    return Stamp(read_number(text) or 0)


_KEPT = "private, max-age=31536000, immutable"
_ASKED_AGAIN = "private, no-cache"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class PicturePage(Page):
    """/pictures/{guid}: a feed's picture, by the guid derived from the feed's URL."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Send the picture of a feed in the account's list.

        If the query is the start of the picture's digest, browsers may cache it permanently.

        Raises:
            UnknownSubscription: The list has no such feed, or the feed has no picture.
        """
        view = await self.service.subscriptions.view(
            request.admitted.account.id, request.parameters["guid"]
        )
        if view is None or view.subscription.deleted is not None:
            raise UnknownSubscription
        picture = await self.service.known_feeds.picture(view.subscription)
        if picture is None:
            raise UnknownSubscription
        wanted = request.http.url.query
        is_this = bool(wanted) and picture.digest.startswith(wanted)
        headers = {
            **_HEADERS,
            "Content-Type": picture.media_type,
            "Cache-Control": _KEPT if is_this else _ASKED_AGAIN,
        }
        return Response(picture.data, headers=headers)
