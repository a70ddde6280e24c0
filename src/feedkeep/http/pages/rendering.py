"""Render pages from templates, with security headers."""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from feedkeep.http.error_responses import OK, SEE_OTHER
from feedkeep.http.pages.languages import UTC_NAME, Localizer, chosen_language, read_all
from feedkeep.http.pages.static import StaticFiles
from feedkeep.http.requests import Request, own_path
from feedkeep.http.responses import Refusal
from feedkeep.model.errors import Sentence

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; manifest-src 'self'; form-action 'self'; frame-ancestors 'none';"
    " base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    # Not "no-referrer": browsers would send forms with "Origin: null", which does not identify
    # feedkeep's own pages.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

# A link within this service, as in templates. User input cannot match: its quotes are escaped.
_PLACE = re.compile(r'( (?:href|src|action|formaction)=")/(?!/)')


class Pages:
    """Renders pages; templates contain absolute paths without the base path.

    Args:
        base_path: Path prefix of the service: "", or such as "/feedkeep".
    """

    def __init__(self, base_path: str = "") -> None:
        self._base_path = base_path
        read_all()
        self.static = StaticFiles()
        self._environment = Environment(
            autoescape=True,
            loader=PrefixLoader(
                {
                    "shared": PackageLoader("feedkeep.http.pages"),
                    "web": PackageLoader("feedkeep.web"),
                    "nextcloud": PackageLoader("feedkeep.nextcloud"),
                    "openpodcast": PackageLoader("feedkeep.openpodcast"),
                }
            ),
            extensions=["jinja2.ext.i18n"],
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.policies["ext.i18n.trimmed"] = True
        # An extension adds this method, which Jinja's types do not include.
        self._environment.install_gettext_callables(  # type: ignore[attr-defined]
            _gettext, _ngettext, newstyle=True
        )
        self._environment.globals["static"] = self.static.path
        self._environment.filters["say"] = _say
        self._environment.filters["apart"] = _apart

    def render(self, template: str, localizer: Localizer, **values: Any) -> str:
        """Render a page; `template` is a name such as "shared/problem.html"."""
        defaults = {"localizer": localizer, "account": None, "theme": "", "note": None}
        defaults |= {"place": "", "next": ""}
        page = self._environment.get_template(template).render(defaults | values)
        return _PLACE.sub(rf"\1{self._base_path}/", page) if self._base_path else page

    def response(
        self, template: str, localizer: Localizer, status: int = OK, **values: Any
    ) -> Response:
        return HTMLResponse(self.render(template, localizer, **values), status, HEADERS)

    def redirect(self, place: str) -> Response:
        """Redirect to another page of this service."""
        return RedirectResponse(self._base_path + place, SEE_OTHER, HEADERS)

    def redirect_external(self, url: str) -> Response:
        """Redirect to another host."""
        return RedirectResponse(url, SEE_OTHER, HEADERS)

    def refusal(
        self, refusal: Refusal, request: Request, *, for_administrators: bool = False
    ) -> Response:
        """Render the page for an error, with a link to continue.

        `for_administrators` means that the account lacks access since it is not an administrator.
        """
        response = self.response(
            "shared/problem.html",
            localizer_for(request),
            refusal.status,
            refusal=refusal,
            request_id=request.id,
            account=request.asker.account if request.asker else None,
            for_administrators=for_administrators,
            next=_page_before(request),
        )
        response.headers.update(refusal.headers)
        if request.method == "POST":
            response.headers["Cache-Control"] = BACK_AND_FORTH
        return response


BACK_AND_FORTH = "private, no-cache"
"""Allows going back to the response of a form; browsers would otherwise show their error page."""


def _page_before(request: Request) -> str:
    """Return the path of our page that sent a form, from the Referer; "" if unknown."""
    host, _, place = request.header("referer").partition("://")[2].partition("/")
    return own_path(f"/{place}", request.base_path) if host == request.header("host") else ""


def localizer_for(
    request: Request, language: str | None = None, time_zone: str | None = None
) -> Localizer:
    """Return the texts in the account's language, or by default the browser's."""
    chosen = chosen_language(language, request.header("accept-language"))
    return Localizer(chosen, time_zone or UTC_NAME)


@pass_context
def _gettext(context: Context, text: str) -> str:
    translated: str = context["localizer"].gettext(text)
    return translated


@pass_context
def _ngettext(context: Context, one: str, many: str, count: int) -> str:
    translated: str = context["localizer"].ngettext(one, many, count)
    return translated


@pass_context
def _say(context: Context, sentence: Sentence) -> str:
    said: str = context["localizer"].say(sentence)
    return said


def _apart(name: str) -> Markup:
    """Isolate user input so that its text direction does not affect the sentence around it."""
    return Markup("<bdi>{}</bdi>").format(name)
