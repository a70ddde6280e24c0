"""Login and logout."""

from __future__ import annotations

from starlette.responses import Response

from feedkeep.gpodder.authenticator import clear_cookie
from feedkeep.http.requests import AdmittedRequest
from feedkeep.http.resource import Resource, done


class LoginResource(Resource):
    """/api/2/auth/{user}/login.json: the authenticator has already started the session."""

    async def post(self, _request: AdmittedRequest) -> Response:
        return done()


class LogoutResource(Resource):
    """/api/2/auth/{user}/logout.json: end the cookie's session."""

    async def post(self, request: AdmittedRequest) -> Response:
        app = request.admitted
        if app.token is not None and app.token.is_session:
            await self.service.logins.end_session(app.account.id, app.token)
        clear_cookie(request)
        return done()
