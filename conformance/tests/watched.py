"""Simulated apps in front of a watched server, in the same process."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

from in_process import NAME, PASSWORD, Clock

from podsync_check.checks import all_hard_cases
from podsync_check.messages import Call, NoAnswer, Reply, Request, Wrong
from podsync_check.protocols.openpodcast import OpenPodcastCalls
from podsync_check.protocols.url_lists import GpodderCalls, NextcloudCalls
from podsync_check.reference.server import OtherDevice, Reference
from podsync_check.simulated.apps import GPODDER, SimulatedApp
from podsync_check.simulated.strict import StrictApp
from podsync_check.watching.hard_cases import Course, HardCase, Verdict
from podsync_check.watching.serving import application
from podsync_check.watching.watch import Message, Watch

WORLD = "https://"
MAX_SYNCS = 120
BASIC = "Basic " + b64encode(f"{NAME}:{PASSWORD}".encode()).decode()


def asked(watch: Watch, request: Request, headers: Mapping[str, str]) -> Reply:
    """Send a request; raises `NoAnswer` if the reply is lost or breaks off."""
    path, _, query = request.target.partition("?")
    lower = {name.lower(): text for name, text in {**request.headers, **headers}.items()}
    scope = {
        "type": "http",
        "method": request.method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), text.encode()) for name, text in lower.items()],
    }
    messages: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": request.body}

    async def send(message: Message) -> None:
        messages.append(message)

    asyncio.run(watch(scope, receive, send))
    if not messages or messages[-1].get("more_body"):
        raise NoAnswer("The connection was cut.")
    told = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    return Reply(messages[0]["status"], told, b"".join(m.get("body", b"") for m in messages))


class Phone:
    """A device with an app, whose owner does what a hard case asks for."""

    signs_in_again = splits = True

    def __init__(self, watch: Watch, app: Any, clock: Clock) -> None:
        self.watch = watch
        self.clock = clock
        self.app = app
        self.cookie = ""

    def use(self) -> None:
        """Sync until all cases have ended."""
        done, feeds = None, 0
        for _ in range(MAX_SYNCS):
            current = self.watch.course.current
            if current is None:
                return
            if current is not done:
                done, feeds = current, feeds + 1
                self.obey(current.case, f"https://phone.example/{feeds}")
            self.sync()
            self.clock.sleep(60)

    def obey(self, case: HardCase, feed: str) -> None:
        if case.asks.startswith("Add"):
            self.app.add(feed)
            if "two" in case.asks:
                self.app.add(f"{feed}/second")
        elif case.asks.startswith("Play"):
            self.app.play(feed, "2026-01-02T03:04:05", 60)

    def sync(self) -> None:
        sync, answer = self.app.dialogue(), None
        try:
            while True:
                answer = self.ask(sync.send(answer))
        except (StopIteration, Wrong):
            pass  # what failed is tried again next time

    def ask(self, call: Call[Any]) -> Any:
        reply = self.reply_to(call)
        if reply.status == 413 and self.splits:
            sent = json.loads(call.request.body)
            for url in sent["add"]:
                got = self.ask(self.app.calls.upload([url], sent["remove"]))
            return got
        return call.read(reply)

    def reply_to(self, call: Call[Any]) -> Reply:
        headers = {"User-Agent": "phone/1.0"}
        if isinstance(getattr(self.app, "calls", None), GpodderCalls):
            if not self.cookie:
                login = self.app.calls.log_in().request
                reply = asked(self.watch, login, {**headers, "Authorization": BASIC})
                self.cookie = reply.headers["set-cookie"].partition(";")[0]
            headers["Cookie"] = self.cookie
        else:
            headers["Authorization"] = BASIC
        reply = asked(self.watch, call.request, headers)
        if reply.status == 401 and self.signs_in_again:
            self.cookie = ""
        return reply


def gpodder(device: str = "phone") -> Any:
    return SimulatedApp(GPODDER, GpodderCalls(NAME, device), WORLD, Clock())


def nextcloud() -> Any:
    return SimulatedApp(GPODDER, NextcloudCalls(), WORLD, Clock())


def strict() -> Any:
    return StrictApp(OpenPodcastCalls("/v1"), WORLD)


def wrong_with(
    app: Any, phone: Callable[..., Phone] = Phone, only: str = "", feeds: int = 0
) -> tuple[dict[str, str], Watch]:
    """Run an app through all cases, or one; return the errors by case, and the watch.

    `feeds` is how many the account has before.
    """
    clock = Clock()
    server = Reference(NAME, PASSWORD, clock)
    cases = [case for case in all_hard_cases() if only in {"", case.name}]
    course = Course(cases, OtherDevice(server))
    for number in range(feeds):
        OtherDevice(server).add(f"https://before.example/{number}")
    watch = Watch(application(server.answer), {}, course=course, clock=clock)
    phone(watch, app, clock).use()
    assert course.current is None, course.current
    wrong = {one.case.name: one.said for one in course.standings if one.verdict is Verdict.WRONG}
    return wrong, watch
