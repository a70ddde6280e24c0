import uuid
from typing import Any

from podsync_check.checking import Level, check, expect
from podsync_check.messages import Reply, Request, expect_status
from podsync_check.servers import OpenPodcast


@check(
    Level.COMPLETE,
    why='An app mistakes "not found" for "try again", or an error for an empty list.',
    seen="OpenPodcastAPI/api-specs, schema.yml",
    spec="Draft A: 401, 404, 405 and 410 with `code` and `message`.",
)
def errors_say_what_they_are(server: OpenPodcast) -> None:
    """Unknown resources get 404, invalid input 405, each with `code` and `message`."""
    unknown = str(uuid.uuid4())
    cases: list[tuple[str, Reply, int]] = [
        ("GET of an unknown guid", server.send("GET", f"/{unknown}"), 404),
        (
            "PATCH of an unknown guid",
            server.send("PATCH", f"/{unknown}", {"is_subscribed": True}),
            404,
        ),
        ("DELETE of an unknown guid", server.send("DELETE", f"/{unknown}"), 404),
        ("GET of what is no guid", server.send("GET", "/no-guid"), 405),
        ("POST without `subscriptions`", server.send("POST", "", {"feeds": []}), 405),
    ]
    for what, reply, status in cases:
        expect(reply.status == status, f"{what} gets {reply.status}, not {status}.")
        body: Any = reply.json()
        is_so = isinstance(body, dict) and str(body.get("code")) == str(status)
        expect(
            is_so and isinstance(body.get("message"), str), f"{what} has the body {body!r:.200}."
        )
    stranger = server.stranger()
    expect_status(stranger.send(Request("GET", f"{server.prefix}/subscriptions")), 401)
