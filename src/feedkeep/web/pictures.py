"""Feed pictures, served from here so that browsers contact no other host."""

from __future__ import annotations

from starlette.responses import Response

from feedkeep.http.requests import AdmittedRequest
from feedkeep.model.errors import UnknownSubscription
from feedkeep.web.page import Page

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
