"""Logging in and out."""

from __future__ import annotations

from starlette.responses import Response

from feedkeep.gpodder.authenticator import clear_cookie
from feedkeep.http.requests import AdmittedRequest
from feedkeep.http.resource import Resource, done


class LoginResource(Resource):
    """/api/2/auth/{user}/login.json: the authenticator has begun the session already."""

    async def post(self, _request: AdmittedRequest) -> Response:
        """Answer that the login succeeded."""
        return done()


class LogoutResource(Resource):
    """/api/2/auth/{user}/logout.json: the end of a session."""

    async def post(self, request: AdmittedRequest) -> Response:
        """End the session of the cookie."""
        app = request.admitted
        if app.token is not None and app.token.is_session:
            await self.service.logins.end_session(app.account.id, app.token)
        clear_cookie(request)
        return done()
