"""What happens to every request, whichever protocol answers it."""

import asyncio

from starlette.responses import Response
from starlette.types import Message

from feedkeep.config.settings import Settings
from feedkeep.http.application import Application
from feedkeep.http.backpressure import InFlight
from feedkeep.http.requests import Request
from feedkeep.http.routing import Edge, PublicRoute
from feedkeep.model import Admitted

LARGE = 900_000


class UnusedAuthenticator:
    async def admit(self, request: Request) -> Admitted:
        raise AssertionError(request.path)


async def large(_: Request) -> Response:
    return Response(b"x" * LARGE)


class Client:
    """A client that takes what it is sent once it reads, and not before."""

    def __init__(self, *, reads: bool) -> None:
        self.sent: list[Message] = []
        self.reads = asyncio.Event()
        self.is_held_up = asyncio.Event()
        if reads:
            self.reads.set()

    async def get(self, application: InFlight) -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "method": "GET",
            "path": "/large",
            "query_string": b"",
            "headers": [],
            "scheme": "http",
            "server": ("127.0.0.1", 80),
        }
        await application(scope, self.receive, self.send)

    async def receive(self) -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if message["type"] == "http.response.body":
            self.is_held_up.set()
            await self.reads.wait()


async def test_a_large_response_without_room_is_503_and_not_cut():
    edge = Edge([PublicRoute("/large", get=large)], UnusedAuthenticator(), 405)
    application = InFlight(Application([edge], Settings()), LARGE + 1)
    slow, other = Client(reads=False), Client(reads=True)
    holding = asyncio.create_task(slow.get(application))
    await slow.is_held_up.wait()
    await other.get(application)
    assert other.sent[0]["status"] == 503
    slow.reads.set()
    await holding
    assert slow.sent[0]["status"] == 200
