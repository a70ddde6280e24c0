"""Devices, which all share one list, and settings stored by apps."""

from __future__ import annotations

from starlette.responses import Response

from feedkeep.gpodder.wire import DeviceReply
from feedkeep.http.json_bodies import encode, text, texts
from feedkeep.http.requests import AdmittedRequest
from feedkeep.http.responses import JsonResponse
from feedkeep.http.routing import Resource, done
from feedkeep.model.errors import InvalidInput
from feedkeep.rules.devices import Favorite
from feedkeep.rules.feed_urls import as_linked, parse_feed_url


class DevicesResource(Resource):
    """/api/2/devices/{user}.json: the account's devices."""

    async def get(self, request: AdmittedRequest) -> Response:
        account = request.admitted.account
        found = await self.service.devices.all(account.id)
        count = account.counts.subscribed
        return JsonResponse(encode([DeviceReply(d.id, d.caption, d.type, count) for d in found]))


class DeviceResource(Resource):
    """/api/2/devices/{user}/{device}.json: add or describe a device."""

    async def post(self, request: AdmittedRequest) -> Response:
        sent = await self.json_object(request, may_be_empty=True)
        await self.service.devices.describe(
            request.admitted.account.id,
            request.parameters["device"],
            text(sent.get("caption")),
            text(sent.get("type")),
        )
        return done()

    async def put(self, request: AdmittedRequest) -> Response:
        """Same as POST, for old versions of mygpoclient."""
        return await self.post(request)


class SyncDevicesResource(Resource):
    """/api/2/sync-devices/{user}.json: groups of devices with a common list; here one group."""

    async def get(self, request: AdmittedRequest) -> Response:
        ids = [device.id for device in await self.service.devices.all(request.admitted.account.id)]
        together = [ids] if len(ids) > 1 else []
        alone = [] if together else ids
        return JsonResponse(encode({"synchronized": together, "not-synchronized": alone}))

    async def post(self, request: AdmittedRequest) -> Response:
        """Ignore the requested groups, and reply as GET does."""
        await self.body(request)
        return await self.get(request)


class SettingsResource(Resource):
    """/api/2/settings/{user}/{scope}.json: settings stored by apps."""

    async def get(self, request: AdmittedRequest) -> Response:
        found = await self.service.devices.settings(request.admitted.account.id, _scope(request))
        return JsonResponse(found.encode())

    async def post(self, request: AdmittedRequest) -> Response:
        """Set and remove settings, and reply with the resulting settings."""
        sent = await self.json_object(request)
        wanted = sent.get("set")
        changed = await self.service.devices.change_settings(
            request.admitted.account.id,
            _scope(request),
            wanted if isinstance(wanted, dict) else {},
            texts(sent.get("remove")),
            _episode(request),
        )
        return JsonResponse(changed.encode())


def _scope(request: AdmittedRequest) -> str:
    """Return the key of the settings' scope: the account, a device, a podcast or an episode.

    Raises:
        InvalidInput: The query does not name the device, podcast or episode.
    """
    scope = request.parameters["scope"]
    if scope == "account":
        return scope
    if scope == "device":
        return f"{scope} {_named(request, 'device')}"
    podcast = parse_feed_url(as_linked(_named(request, "podcast"))).guid
    episode = _named(request, "episode") if scope == "episode" else ""
    return f"{scope} {podcast} {episode}"


def _episode(request: AdmittedRequest) -> Favorite | None:
    """Return the episode whose settings are requested; None for other scopes."""
    if request.parameters["scope"] != "episode":
        return None
    return Favorite(
        parse_feed_url(as_linked(_named(request, "podcast"))).text, _named(request, "episode")
    )


def _named(request: AdmittedRequest, name: str) -> str:
    value = request.query(name)
    if not value:
        raise InvalidInput(f"The query has to name the {name}.")
    return value
