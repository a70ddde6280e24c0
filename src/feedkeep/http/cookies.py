"""The cookies of pages: their names, and who a browser sends them to."""

from __future__ import annotations

from feedkeep.http.requests import Request


def cookie_name(request: Request, name: str) -> str:
    """Return the name of a cookie that, over HTTPS, no plain page can set, nor another host.

    Under a path, a cookie is for that path only, as the other services of that host are not to get
    it; such a cookie may not have the name that keeps other hosts out (RFC 6265bis, section 4.1.3).
    """
    if not request.is_secure:
        return name
    return f"__Secure-{name}" if request.base_path else f"__Host-{name}"


def cookie(request: Request, name: str, value: str, max_age_seconds: int) -> str:
    """Return a Set-Cookie header for pages of this service only."""
    secure = "; Secure" if request.is_secure else ""
    return (
        f"{cookie_name(request, name)}={value}; Path={request.base_path or '/'};"
        f" Max-Age={max_age_seconds}; HttpOnly; SameSite=Lax{secure}"
    )
