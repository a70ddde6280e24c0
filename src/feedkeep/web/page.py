"""What the pages have in common: how they are filled in, and how a form leads on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import segno
from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.http.authenticators import log_refusal
from feedkeep.http.error_responses import BAD_REQUEST, FORBIDDEN, OK, refusal_of
from feedkeep.http.pages.forms import Form
from feedkeep.http.pages.languages import Words, time_zones
from feedkeep.http.pages.notes import Note, forget_note, has_note, read_note, write_note
from feedkeep.http.pages.rendering import BACK_AND_FORTH, Pages, words_for
from feedkeep.http.requests import AdmittedRequest, Request
from feedkeep.model import (
    AccountId,
    Admitted,
    Author,
    CredentialKind,
    Feed,
    NewToken,
    Preferences,
    Snapshot,
    Stamp,
)
from feedkeep.model.errors import (
    AccountError,
    Forbidden,
    NotAuthorized,
    Sentence,
    StoreUnavailable,
    TooManyAttempts,
)
from feedkeep.rules.credentials import read_browser_session
from feedkeep.rules.feed_labels import Labels
from feedkeep.rules.feed_names import Headline, name_of
from feedkeep.rules.notices import Notice, may_have_moved, newest, of_changes, of_list
from feedkeep.rules.personal_urls import may_look_at
from feedkeep.rules.text_limits import line_of
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.service import Service
from feedkeep.web.authenticator import session_cookie, session_of
from feedkeep.web.changes import FEEDS_OF_A_CHANGE, ShownWipe, shown_wipe, urls_of

_MAX_LABEL_CHARACTERS = 200
_MAX_NAME_CHARACTERS = 61
_NOTHING_SEEN = Preferences()
_LOOK_SECONDS = 3.0
"""How long a person waits for what is found at the address of a feed that was just added."""


class Page:
    """Handles the requests of a page, or of several that belong together."""

    def __init__(self, service: Service, settings: Settings, pages: Pages) -> None:
        self.service = service
        self.settings = settings
        self.pages = pages

    def base_url(self, request: Request) -> str:
        """Return the address that apps and people reach this service by."""
        return self.settings.public_url.rstrip("/") or request.base_url

    async def show(
        self,
        request: Request,
        template: str,
        status: int = OK,
        *,
        is_long: bool = False,
        **values: Any,
    ) -> Response:
        """Return a page, with the note that the page before left for it."""
        preferences = await self.preferences_of(request)
        words = words_for(request, preferences.language, preferences.time_zone)
        note = read_note(request, session_of(request) if request.asker else "")
        values = {
            "account": request.asker.account if request.asker else None,
            "theme": preferences.theme or "",
            "note": note,
            "problems": {},
            "typed": Form(),
            "provider": self.settings.oidc_name if self.settings.oidc_issuer else "",
            "password_login": self.settings.password_login,
            "types_password": request.asker is None or self.types_password(request.asker),
            **values,
        }
        response = await in_thread_if(
            is_long, self.pages.response, f"web/{template}", words, status, **values
        )
        if request.method == "POST":
            response.headers["Cache-Control"] = BACK_AND_FORTH
        if has_note(request):
            response.headers.append("set-cookie", forget_note(request))
        return response

    def leading_to(
        self,
        request: Request,
        place: str,
        note: Note | None = None,
        session: NewToken | None = None,
    ) -> Response:
        """Lead on to a page after a form was carried out, so that to reload it repeats nothing."""
        response = self.pages.leading_to(place)
        if note:
            text = session.text if session else session_of(request)
            response.headers.append("set-cookie", write_note(request, note, text))
        return self.signed_in(request, response, session)

    def signed_in(self, request: Request, response: Response, session: NewToken | None) -> Response:
        """Let a response bring the session that began with the request, if one did."""
        if session:
            response.headers.append("set-cookie", session_cookie(request, session.text))
        return response

    async def note_time_zone(self, session: NewToken, zone: str) -> None:
        """Keep the time zone of the browser that a session begins with, if none is known yet."""
        shown = read_browser_session(session.text)
        if shown is not None and zone in time_zones():
            with suppress(StoreUnavailable):  # the person is in, and can choose it later
                await self.service.preferences.note_time_zone(shown.account_id, zone)

    def is_fresh(self, request: AdmittedRequest) -> bool:
        """Say whether the password was typed in this browser a short while ago."""
        return self.service.page_sessions.is_fresh(request.admitted)

    def types_password(self, admitted: Admitted) -> bool:
        """Say whether a person can type a password of the account; else the provider confirms."""
        return self.settings.password_login and admitted.account.password_hash is not None

    def check_passwords_count(self) -> None:
        """Check that people may sign in with a password.

        Raises:
            Forbidden: Only the provider lets them in.
        """
        if not self.settings.password_login:
            raise Forbidden("Passwords are switched off here. Sign in with the provider.")

    async def confirmed(self, request: AdmittedRequest, form: Form) -> NewToken | None:
        """Check the password again if that is due; return the session that begins with it.

        Raises:
            NotAuthorized: It is wrong.
            TooManyAttempts: Too many wrong ones came.
        """
        if self.is_fresh(request):
            return None
        if not self.types_password(request.admitted):
            raise NotAuthorized
        try:
            return await self.service.page_sessions.confirm(
                request.admitted, form.text("password"), request.address, label_of(request)
            )
        except (NotAuthorized, TooManyAttempts) as error:
            request.credential_kind = CredentialKind.PASSWORD
            log_refusal(request, error)
            raise

    async def words(self, request: Request) -> Words:
        """Return what says things to who sent a request."""
        preferences = await self.preferences_of(request)
        return words_for(request, preferences.language, preferences.time_zone)

    async def devices(self, account_id: AccountId, authors: Iterable[Author]) -> dict[str, str]:
        """Return what the devices of those who changed a list are called, by their ids."""
        if not any(author.device for author in authors):
            return {}
        found = await self.service.devices.all(account_id)
        return {device.id: device.caption for device in found}

    async def wipe(self, request: AdmittedRequest, whole: Snapshot) -> ShownWipe | None:
        """Return the wipe of a list that a page is to ask about, if there is one."""
        account_id = request.admitted.account.id
        dismissed = (await self.preferences_of(request)).dismissed_wipe
        found = await self.service.history.newest_wipe(account_id, whole, dismissed)
        if found is None:
            return None
        wipe, author = found
        devices = await self.devices(account_id, [author] if author else [])
        titles = await self.titles(request, urls_of(wipe.feeds[:FEEDS_OF_A_CHANGE]))
        return shown_wipe(wipe, author, devices, titles)

    async def titles(self, request: AdmittedRequest, urls: Iterable[str]) -> dict[str, str]:
        """Return the titles of feeds that have one, by their URLs."""
        urls = list(urls)
        if not urls:
            return {}
        account_id = request.admitted.account.id
        known = await self.service.known_feeds.headlines_at(account_id, urls)
        labels = await self.service.feed_labels.of(account_id)
        titles = {url: labels.title(url, known[url].title if url in known else "") for url in urls}
        return {url: title for url, title in titles.items() if title}

    async def name(self, request: AdmittedRequest, feed_url: str) -> str:
        """Return what a feed is called in a sentence."""
        titles = await self.titles(request, [feed_url])
        return line_of(name_of(feed_url, titles.get(feed_url, "")), _MAX_NAME_CHARACTERS)

    async def news(
        self,
        account_id: AccountId,
        whole: Snapshot,
        known: Mapping[str, Headline],
        labels: Labels,
        seen: Preferences = _NOTHING_SEEN,
    ) -> list[Notice]:
        """Return what the owner of a list should know, and has not `seen`.

        A wipe is left out: pages ask about it (`wipe`).
        `whole` is the list, and `known` what is known of its feeds. The history is read only where
        a feed may have moved: that is rare, and most lists have none.
        """
        now, history = self.service.now(), self.service.history
        apps = await self.service.apps.of(account_id)
        is_long = len(whole.entries) > LONG_LIST
        found = await in_thread_if(is_long, of_list, whole, known, labels, apps, now)
        if history.days and await in_thread_if(is_long, may_have_moved, whole):
            listed = await history.page(account_id)
            titles = {url: labels.title(url, one.title) for url, one in known.items()}
            found += of_changes(listed.changes, listed.authors, titles)
        return newest(found, now, seen.dismissed_news, seen.known_apps)

    async def once_looked_at(self, request: AdmittedRequest, guid: str) -> Feed | None:
        """Return what is known of a feed that was just added; that is waited for a short while."""
        account_id = request.admitted.account.id
        view = await self.service.subscriptions.view(account_id, guid)
        if view is None or not may_look_at(view.subscription.feed_url, self.settings.fetch):
            return None
        return await self.service.known_feeds.once_looked_at(
            account_id, view.subscription, _LOOK_SECONDS
        )

    async def preferences_of(self, request: Request) -> Preferences:
        """Return how the person who sent a request wants to see the pages."""
        if request.asker is None:
            return Preferences()
        return await self.service.preferences.of(request.asker.account.id)


def qr_code(text: str) -> str:
    """Return a picture of a text that a phone's camera reads, as an address of data."""
    picture: str = segno.make(text, error="m", micro=False).svg_data_uri(scale=4, border=1)
    return picture


def stamps_text(stamps: Iterable[Stamp]) -> str:
    """Return stamps of changes as a form has them."""
    return ",".join(map(str, stamps))


def status_of(error: Exception) -> int:
    """Return the status of a page that shows a form again because of an error."""
    if isinstance(error, NotAuthorized):
        return FORBIDDEN  # not 401: browsers would ask for a password by themselves
    if isinstance(error, AccountError):
        return BAD_REQUEST
    return refusal_of(error, "", BAD_REQUEST).status


def headers_of(error: Exception) -> dict[str, str]:
    """Return the headers that belong to such a page."""
    return refusal_of(error, "").headers if isinstance(error, TooManyAttempts) else {}


def not_confirmed(form: Form, error: NotAuthorized | TooManyAttempts) -> Sentence:
    """Return why a password that was asked for again did not do."""
    if isinstance(error, TooManyAttempts):
        return error.sentence
    if not form.text("password"):  # when the page was made, the password was fresh
        return Sentence("Type your current password.")
    return Sentence("This is not your password.")


def label_of(request: Request) -> str:
    """Return how a browser calls itself."""
    return request.header("user-agent")[:_MAX_LABEL_CHARACTERS]
