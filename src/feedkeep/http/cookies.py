"""All cookies: names, lifetimes and scope."""

from __future__ import annotations

from dataclasses import dataclass

from feedkeep.http.requests import Request
from feedkeep.rules.credentials import APP_SESSION_DAYS

_QUARTER_SECONDS = 900
_HOUR_SECONDS = 3_600
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Cookie:
    """A kind of cookie.

    Attributes:
        name: Name without the prefix of `secured_name`.
        max_age_seconds: Lifetime in the client; None until the browser is closed.
    """

    name: str
    max_age_seconds: int | None


# The maximum in browsers; the session itself ends after `BROWSER_SESSION_DAYS`.
BROWSER_SESSION = Cookie("feedkeep", 400 * _DAY_SECONDS)
# gpodder.net's name, which clients expect.
APP_SESSION = Cookie("sessionid", APP_SESSION_DAYS * _DAY_SECONDS)
NEXTCLOUD_LOGIN = Cookie("feedkeep_login", None)
GRANTED_APPS = Cookie("feedkeep_granted", 30 * _DAY_SECONDS)
LOOK = Cookie("feedkeep_look", 400 * _DAY_SECONDS)
NOTE = Cookie("feedkeep_note", 60)
NEW_PASSWORD = Cookie("feedkeep_new_password", _QUARTER_SECONDS)
PROVIDER_SIGN_IN = Cookie("feedkeep_provider", _QUARTER_SECONDS)
INVITATION = Cookie("feedkeep_invitation", _HOUR_SECONDS)
PASSWORD_RESET = Cookie("feedkeep_reset", _HOUR_SECONDS)


def secured_name(request: Request, cookie: Cookie) -> str:
    """Return a cookie name that, over HTTPS, plain HTTP and other hosts cannot set.

    Under a base path, the cookie is limited to that path to hide it from other services on the
    host, so it cannot have the prefix that excludes other hosts (RFC 6265bis, section 4.1.3).
    """
    if not request.is_secure:
        return cookie.name
    return f"__Secure-{cookie.name}" if request.base_path else f"__Host-{cookie.name}"


def read_cookie(request: Request, cookie: Cookie) -> str:
    return request.cookie(secured_name(request, cookie)) or ""


def set_cookie(request: Request, cookie: Cookie, value: str) -> str:
    """Return a Set-Cookie header for the pages of this service."""
    return _header(request, cookie, value, cookie.max_age_seconds)


def expire_cookie(request: Request, cookie: Cookie) -> str:
    """Return a Set-Cookie header that deletes a page cookie."""
    return _header(request, cookie, "", 0)


def _header(request: Request, cookie: Cookie, value: str, max_age_seconds: int | None) -> str:
    secure = "; Secure" if request.is_secure else ""
    return (
        f"{secured_name(request, cookie)}={value}; Path={request.base_path or '/'};"
        f" Max-Age={max_age_seconds}; HttpOnly; SameSite=Lax{secure}"
    )
