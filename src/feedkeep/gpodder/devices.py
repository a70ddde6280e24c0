"""Devices, which share one list; and the settings that apps keep here."""

from __future__ import annotations

from starlette.responses import Response

from feedkeep.errors import InvalidInput
from feedkeep.gpodder.wire import DeviceReply
from feedkeep.http.json_bodies import encode, text, texts
from feedkeep.http.requests import AdmittedRequest
from feedkeep.http.resource import Resource, done
from feedkeep.http.responses import JsonResponse
from feedkeep.rules.feed_urls import parse_feed_url


class DevicesResource(Resource):
    """/api/2/devices/{user}.json: all devices of the account."""

    async def get(self, request: AdmittedRequest) -> Response:
        """List them."""
        account = request.admitted.account
        found = await self.service.devices.all(account.id)
        count = account.counts.subscribed
        return JsonResponse(encode([DeviceReply(d.id, d.caption, d.type, count) for d in found]))


class DeviceResource(Resource):
    """/api/2/devices/{user}/{device}.json: one device."""

    async def post(self, request: AdmittedRequest) -> Response:
        """Describe it; one that was not known is made."""
        sent = await self.json_object(request, may_be_empty=True)
        await self.service.devices.describe(
            request.admitted.account.id,
            request.parameters["device"],
            text(sent.get("caption")),
            text(sent.get("type")),
        )
        return done()

    async def put(self, request: AdmittedRequest) -> Response:
        """Do as POST does: old versions of mygpoclient send this."""
        return await self.post(request)


class SyncDevicesResource(Resource):
    """/api/2/sync-devices/{user}.json: which devices share a list, which here all do."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Tell that all of them do."""
        ids = [device.id for device in await self.service.devices.all(request.admitted.account.id)]
        together = [ids] if len(ids) > 1 else []
        alone = [] if together else ids
        return JsonResponse(encode({"synchronized": together, "not-synchronized": alone}))

    async def post(self, request: AdmittedRequest) -> Response:
        """Take what an app wants to share, and tell what is."""
        await self.body(request)
        return await self.get(request)


class SettingsResource(Resource):
    """/api/2/settings/{user}/{scope}.json: what apps keep for themselves."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Tell what is kept under a scope."""
        found = await self.service.devices.settings(request.admitted.account.id, _scope(request))
        return JsonResponse(found.encode())

    async def post(self, request: AdmittedRequest) -> Response:
        """Set and remove; tell what is kept then."""
        sent = await self.json_object(request)
        wanted = sent.get("set")
        changed = await self.service.devices.change_settings(
            request.admitted.account.id,
            _scope(request),
            wanted if isinstance(wanted, dict) else {},
            texts(sent.get("remove")),
        )
        return JsonResponse(changed.encode())


def _scope(request: AdmittedRequest) -> str:
    """Return what settings belong to: the account, or a device, a podcast or an episode of it.

    Raises:
        InvalidInput: It is not said which one.
    """
    scope = request.parameters["scope"]
    if scope == "account":
        return scope
    if scope == "device":
        return f"{scope} {_named(request, 'device')}"
    podcast = parse_feed_url(_named(request, "podcast")).guid
    episode = _named(request, "episode") if scope == "episode" else ""
    return f"{scope} {podcast} {episode}"


def _named(request: AdmittedRequest, name: str) -> str:
    value = request.query(name)
    if not value:
        raise InvalidInput(f"The query has to name the {name}.")
    return value
