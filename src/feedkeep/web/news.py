"""News of a list: a page, and a private Atom feed (RFC 4287) for podcast apps and readers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from xml.etree.ElementTree import Element, SubElement, tostring

from starlette.responses import Response

from feedkeep.http.error_responses import OK
from feedkeep.http.pages.forms import read_form, read_number
from feedkeep.http.pages.languages import DEFAULT_LANGUAGE, UTC_NAME, Localizer
from feedkeep.http.pages.notes import Note
from feedkeep.http.requests import AdmittedRequest, Request
from feedkeep.http.routing import NoSuchRoute
from feedkeep.model import Account, Stamp, Value
from feedkeep.model.errors import NotAuthorized, Sentence, TooManyAttempts
from feedkeep.model.stamps import write_stamp
from feedkeep.rules.app_identity import app_name
from feedkeep.rules.notices import (
    MAX_KNOWN_APPS,
    Notice,
    NoticeKind,
    app_key,
    newest,
    of_mass_unsubscribe,
)
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.web.changes import who_of
from feedkeep.web.page import Page, headers_of, not_confirmed, status_of
from feedkeep.web.rows import live

ATOM = "application/atom+xml; charset=utf-8"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids (XML 1.0, section 2.2), but names of feeds and apps may contain."""

_NAMESPACE = "http://www.w3.org/2005/Atom"


class AtomEntry(Value, frozen=True):
    """Entry of a feed.

    Attributes:
        id: Permanent IRI of this entry.
        title: A sentence.
        link: URL of the linked page.
        updated: Time of the event.
    """

    id: str
    title: str
    link: str
    updated: Stamp


def write_atom(
    feed_id: str, title: str, language: str, link: str, entries: Sequence[AtomEntry]
) -> bytes:
    """Write a feed with at least one entry, newest first."""
    feed = Element("feed", {"xmlns": _NAMESPACE, "xml:lang": language})
    author = SubElement(feed, "author")
    _add(author, "name", "feedkeep")
    _add(feed, "id", feed_id)
    _add(feed, "title", title)
    SubElement(feed, "link", {"href": link})
    _add(feed, "updated", write_stamp(entries[0].updated))
    for one in entries:
        entry = SubElement(feed, "entry")
        _add(entry, "id", one.id)
        _add(entry, "title", one.title)
        SubElement(entry, "link", {"href": one.link})
        _add(entry, "updated", write_stamp(one.updated))
        _add(entry, "summary", one.title)
    written: bytes = tostring(feed, "utf-8", xml_declaration=True)
    return written


def _add(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = _NOT_IN_XML.sub("", text)


PLACE = "/news"

_BEGINNING = Sentence("News of your list will appear here.")
_PLACES = {
    NoticeKind.MASS_UNSUBSCRIBE: "/",
    NoticeKind.SILENT: "/apps",
    NoticeKind.NEW_APP: "/apps",
}


class NoticeRow(Value, frozen=True):
    """A notice on a page: its sentence, the path that it links to, and its time."""

    sentence: Sentence
    place: str
    at: Stamp


def notice_row(notice: Notice) -> NoticeRow:
    """Convert a notice for display. Pure."""
    place = _PLACES.get(notice.kind, f"/feeds/{notice.guid}")
    return NoticeRow(_sentence(notice), place, notice.at)


def _sentence(notice: Notice) -> Sentence:
    name = app_name(notice.name) if notice.guid is None else notice.name
    match notice.kind, name:
        case NoticeKind.MASS_UNSUBSCRIBE, "":
            return Sentence("Many feeds were removed at once: {count}.", {"count": notice.count})
        case NoticeKind.MASS_UNSUBSCRIBE, _:
            return Sentence(
                "{name} removed many feeds at once: {count}.",
                {"name": name, "count": notice.count},
            )
        case NoticeKind.UNREADABLE, _:
            return Sentence("{name} hasn't been readable for a week.", {"name": name})
        case NoticeKind.MOVED, _:
            return Sentence("{name} has a new address, and your list follows it.", {"name": name})
        case NoticeKind.SILENT, "":
            return Sentence("An app has not synced for weeks, although others have.")
        case NoticeKind.SILENT, _:
            return Sentence(
                "{name} has not synced for weeks, although other apps have.", {"name": name}
            )
        case NoticeKind.NEW_APP, "":
            return Sentence("An app was connected. If that was not you, disconnect it.")
        case _:
            return Sentence(
                "{name} was connected. If that was not you, disconnect it.", {"name": name}
            )


class NewsPage(Page):
    """/news, its forms and the feed."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Show the news of the last thirty days."""
        return await self._shown(request)

    async def dismiss(self, request: AdmittedRequest) -> Response:
        """Dismiss the news above the list, up to the time in the form."""
        form = await read_form(request)
        until = min(read_number(form.text("until")) or 0, self.service.now())
        account_id = request.admitted.account.id
        known = [app_key(app) for app in await self.service.apps.of(account_id)]
        await self.service.news.dismiss(account_id, Stamp(until), known[:MAX_KNOWN_APPS])
        return self.redirect(request, "/")

    async def make_address(self, request: AdmittedRequest) -> Response:
        """Create the feed's address, replacing the previous address; it is shown once."""
        form = await read_form(request)
        try:
            session = await self.confirmed(request, form)
        except (NotAuthorized, TooManyAttempts) as error:
            problems = {"password": not_confirmed(form, error)}
            response = await self._shown(request, status_of(error), problems=problems)
            response.headers.update(headers_of(error))
            return response
        secret = await self.service.news.new_address(request.admitted.account)
        link = f"{self.base_url(request)}{PLACE}/{secret}.atom"
        return self.redirect(request, PLACE, Note("news-address", {"link": link}), session)

    async def end_address(self, request: AdmittedRequest) -> Response:
        """Revoke the feed's address."""
        await self.service.news.end_address(request.admitted.account.id)
        return self.redirect(request, PLACE, Note("news-address-ended"))

    async def feed(self, request: Request) -> Response:
        """Send the news as an Atom feed; its secret address is the credential."""
        try:
            account = await self.service.news.account_of(request.parameters["secret"])
        except NotAuthorized:
            raise NoSuchRoute from None
        preferences = await self.service.preferences.of(account.id)
        localizer = Localizer(
            preferences.language or DEFAULT_LANGUAGE, preferences.time_zone or UTC_NAME
        )
        base_url = self.base_url(request)
        body = write_atom(
            _id(account, "news"),
            f"feedkeep: {account.name}",
            localizer.language,
            f"{base_url}{PLACE}",
            [
                *(
                    _entry(account, one, localizer, base_url)
                    for one in await self._notices(account)
                ),
                AtomEntry(
                    _id(account, "begin"),
                    localizer.say(_BEGINNING),
                    f"{base_url}{PLACE}",
                    account.created,
                ),
            ],
        )
        return Response(body, media_type=ATOM)

    async def _shown(self, request: AdmittedRequest, status: int = OK, **values: Any) -> Response:
        account = request.admitted.account
        return await self.show(
            request,
            "news.html",
            status,
            rows=[notice_row(one) for one in await self._notices(account)],
            has_address=await self.service.news.has_address(account),
            is_fresh=self.is_fresh(request),
            now=self.service.now(),
            **values,
        )

    async def _notices(self, account: Account) -> list[Notice]:
        """Return all notices of an account, mass unsubscribes included, newest first."""
        whole = await self.service.subscriptions.whole(account.id)
        feeds = await in_thread_if(len(whole.entries) > LONG_LIST, live, whole)
        known = await self.service.known_feeds.headlines(feeds)
        labels = await self.service.feed_labels.of(account.id)
        found = await self.news(account.id, whole, known, labels)
        newest_one = await self.service.history.newest_mass_unsubscribe(account.id, whole, Stamp(0))
        if newest_one is None:
            return found
        mass_unsubscribe, author = newest_one
        who = who_of(author, await self.devices(account.id, [author] if author else []))
        return newest(
            [of_mass_unsubscribe(mass_unsubscribe, who.device or who.app), *found],
            self.service.now(),
        )


def _entry(account: Account, notice: Notice, localizer: Localizer, base_url: str) -> AtomEntry:
    row = notice_row(notice)
    place = f"{base_url}{row.place}"
    return AtomEntry(_id(account, notice.key), localizer.say(row.sentence), place, row.at)


def _id(account: Account, key: str) -> str:
    """Return an opaque IRI for a key of an account."""
    return uuid5(NAMESPACE_URL, f"feedkeep:{account.id}:{account.created}:{key}").urn
