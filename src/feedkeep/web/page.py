"""Base class and helpers of the pages: rendering, redirects and password confirmation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import segno
from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.http.authenticators import log_refusal
from feedkeep.http.error_responses import BAD_REQUEST, FORBIDDEN, OK, refusal_of
from feedkeep.http.pages.forms import Form
from feedkeep.http.pages.languages import Localizer, time_zones
from feedkeep.http.pages.notes import Note, forget_note, has_note, read_note, write_note
from feedkeep.http.pages.rendering import BACK_AND_FORTH, Pages, localizer_for
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
from feedkeep.rules.notices import (
    Notice,
    granted_keys,
    may_have_moved,
    newest,
    of_changes,
    of_list,
)
from feedkeep.rules.personal_urls import may_look_at
from feedkeep.rules.text_limits import line_of
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.service import Service
from feedkeep.service.logins import OPEN_SECONDS
from feedkeep.web.authenticator import session_cookie, session_of
from feedkeep.web.changes import (
    FEEDS_OF_A_CHANGE,
    ShownMassUnsubscribe,
    shown_mass_unsubscribe,
    urls_of,
)

_MAX_LABEL_CHARACTERS = 200
_MAX_NAME_CHARACTERS = 61
_LOOK_SECONDS = 3.0
"""Maximum wait for the first fetch of a newly added feed."""


class Page:
    """Base class: handles the requests of one page or of several related pages."""

    def __init__(self, service: Service, settings: Settings, pages: Pages) -> None:
        self.service = service
        self.settings = settings
        self.pages = pages

    def base_url(self, request: Request) -> str:
        """Return the public base URL of this service."""
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
        """Render a page, in a thread if `is_long`, with the note left by the previous page."""
        preferences = await self.preferences_of(request)
        localizer = localizer_for(request, preferences.language, preferences.time_zone)
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
            is_long, self.pages.response, f"web/{template}", localizer, status, **values
        )
        if request.method == "POST":
            response.headers["Cache-Control"] = BACK_AND_FORTH
        if has_note(request):
            response.headers.append("set-cookie", forget_note(request))
        return response

    def redirect(
        self,
        request: Request,
        place: str,
        note: Note | None = None,
        session: NewToken | None = None,
    ) -> Response:
        """Redirect after a form, so that reloading the page repeats nothing."""
        response = self.pages.redirect(place)
        if note:
            text = session.text if session else session_of(request)
            response.headers.append("set-cookie", write_note(request, note, text))
        return self.signed_in(request, response, session)

    def signed_in(self, request: Request, response: Response, session: NewToken | None) -> Response:
        """Set the cookie of the session that the request started, if any."""
        if session:
            response.headers.append("set-cookie", session_cookie(request, session.text))
        return response

    async def note_time_zone(self, session: NewToken, zone: str) -> None:
        """Store the time zone of a new session's browser, unless the account has one."""
        shown = read_browser_session(session.text)
        if shown is not None and zone in time_zones():
            with suppress(StoreUnavailable):  # sign-in succeeded; the zone can be set later
                await self.service.preferences.note_time_zone(shown.account_id, zone)

    def is_fresh(self, request: AdmittedRequest) -> bool:
        """Whether the password was recently typed in this browser."""
        return self.service.page_sessions.is_fresh(request.admitted)

    def types_password(self, admitted: Admitted) -> bool:
        """Whether actions are confirmed by password; otherwise by the provider's sign-in."""
        return self.settings.password_login and admitted.account.password_hash is not None

    def check_passwords_count(self) -> None:
        """Raise `Forbidden` if sign-in with a password is disabled."""
        if not self.settings.password_login:
            raise Forbidden("Passwords are switched off here. Sign in with the provider.")

    async def confirmed(self, request: AdmittedRequest, form: Form) -> NewToken | None:
        """Confirm the password unless it is fresh; return the new session, None if it is fresh.

        Raises:
            NotAuthorized: The password is wrong, or the account is not confirmed by password.
            TooManyAttempts: There were too many wrong passwords.
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

    async def localizer(self, request: Request) -> Localizer:
        """Return the texts in the language and time zone of the request's sender."""
        preferences = await self.preferences_of(request)
        return localizer_for(request, preferences.language, preferences.time_zone)

    async def devices(self, account_id: AccountId, authors: Iterable[Author]) -> dict[str, str]:
        """Return the account's device captions by id; empty if no author names a device."""
        if not any(author.device for author in authors):
            return {}
        found = await self.service.devices.all(account_id)
        return {device.id: device.caption for device in found}

    async def mass_unsubscribe(
        self, request: AdmittedRequest, whole: Snapshot
    ) -> ShownMassUnsubscribe | None:
        """Return the mass unsubscribe to ask the owner about; None without one."""
        account_id = request.admitted.account.id
        dismissed = (await self.preferences_of(request)).dismissed_mass_unsubscribe
        found = await self.service.history.newest_mass_unsubscribe(account_id, whole, dismissed)
        if found is None:
            return None
        mass_unsubscribe, author = found
        devices = await self.devices(account_id, [author] if author else [])
        titles = await self.titles(request, urls_of(mass_unsubscribe.feeds[:FEEDS_OF_A_CHANGE]))
        return shown_mass_unsubscribe(mass_unsubscribe, author, devices, titles)

    async def titles(self, request: AdmittedRequest, urls: Iterable[str]) -> dict[str, str]:
        """Return the titles of feeds by URL; feeds without a title are omitted."""
        urls = list(urls)
        if not urls:
            return {}
        account_id = request.admitted.account.id
        known = await self.service.known_feeds.headlines_at(account_id, urls)
        labels = await self.service.feed_labels.of(account_id)
        titles = {url: labels.title(url, known[url].title if url in known else "") for url in urls}
        return {url: title for url, title in titles.items() if title}

    async def name(self, request: AdmittedRequest, feed_url: str) -> str:
        """Return a feed's name, shortened for a sentence."""
        titles = await self.titles(request, [feed_url])
        return line_of(name_of(feed_url, titles.get(feed_url, "")), _MAX_NAME_CHARACTERS)

    async def news(
        self,
        account_id: AccountId,
        whole: Snapshot,
        known: Mapping[str, Headline],
        labels: Labels,
        seen: Preferences | None = None,
        granted: str = "",
    ) -> list[Notice]:
        """Return the notices, newest first; with `seen`, those that its owner does not know.

        `granted` are the browser's marks of apps that it granted access (`with_grant`).

        Mass unsubscribes are excluded: pages ask about them (`mass_unsubscribe`). The history is
        read only if a feed may have moved, which is rare.
        """
        now, history = self.service.now(), self.service.history
        apps = await self.service.apps.of(account_id)
        is_long = len(whole.entries) > LONG_LIST
        found = await in_thread_if(is_long, of_list, whole, known, labels, apps, now)
        if history.days and await in_thread_if(is_long, may_have_moved, whole):
            listed = await history.page(account_id)
            titles = {url: labels.title(url, one.title) for url, one in known.items()}
            found += of_changes(listed.changes, listed.authors, titles)
        if seen is None:
            return newest(found, now)
        of_browser = granted_keys(apps, account_id, granted, OPEN_SECONDS)
        return newest(found, now, seen.dismissed_news, {*seen.known_apps, *of_browser})

    async def wait_for_first_fetch(
        self, request: AdmittedRequest, guid: str, seconds: float = math.inf
    ) -> Feed | None:
        """Wait briefly for the first fetch of a new feed; return its record, None without one."""
        account_id = request.admitted.account.id
        view = await self.service.subscriptions.view(account_id, guid)
        if view is None or not may_look_at(view.subscription.feed_url, self.settings.fetch):
            return None
        return await self.service.known_feeds.wait_for_first_fetch(
            account_id, view.subscription, min(seconds, _LOOK_SECONDS)
        )

    async def preferences_of(self, request: Request) -> Preferences:
        """Return the preferences of the request's sender; the defaults without a session."""
        if request.asker is None:
            return Preferences()
        return await self.service.preferences.of(request.asker.account.id)


def qr_code(text: str) -> str:
    """Return a QR code of the text as a data URI."""
    picture: str = segno.make(text, error="m", micro=False).svg_data_uri(scale=4, border=1)
    return picture


def stamps_text(stamps: Iterable[Stamp]) -> str:
    """Return stamps as a comma-separated form value."""
    return ",".join(map(str, stamps))


def status_of(error: Exception) -> int:
    """Return the status code of a form that is shown again with an error."""
    if isinstance(error, NotAuthorized):
        return FORBIDDEN  # not 401: browsers would prompt for a password
    if isinstance(error, AccountError):
        return BAD_REQUEST
    return refusal_of(error, "", BAD_REQUEST).status


def headers_of(error: Exception) -> dict[str, str]:
    """Return the headers of a form that is shown again with an error."""
    return refusal_of(error, "").headers if isinstance(error, TooManyAttempts) else {}


def not_confirmed(form: Form, error: NotAuthorized | TooManyAttempts) -> Sentence:
    """Return the problem to show for a failed password confirmation."""
    if isinstance(error, TooManyAttempts):
        return error.sentence
    if not form.text("password"):  # no field was shown: the password was still fresh
        return Sentence("Type your current password.")
    return Sentence("This is not your password.")


def label_of(request: Request) -> str:
    """Return the browser's User-Agent, truncated."""
    return request.header("user-agent")[:_MAX_LABEL_CHARACTERS]
