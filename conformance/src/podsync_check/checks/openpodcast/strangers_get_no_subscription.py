import uuid

from podsync_check.checking import Level, check, expect
from podsync_check.connection import Credential, Session
from podsync_check.messages import json_request
from podsync_check.servers import OpenPodcast


@check(
    Level.SAFE,
    why="Strangers can read and change what a user listens to.",
    seen="OpenPodcastAPI/api-specs, schema.yml",
    spec="Draft A: 401.",
    only_reads=True,
)
def strangers_get_no_subscription(server: OpenPodcast) -> None:
    """Requests without a credential, or with an invented token, get 401."""
    made_up = Session(server.connection, Credential("", "made-up"))
    path = f"{server.prefix}/subscriptions"
    requests = [
        json_request("POST", path, {"subscriptions": [{"feed_url": server.feed()}]}),
        json_request("PATCH", f"{path}/{uuid.uuid4()}", {"is_subscribed": False}),
        json_request("DELETE", f"{path}/{uuid.uuid4()}", {}),
        json_request("GET", path, {}),
    ]
    for request in requests:
        for session in (server.stranger(), made_up):
            status = session.send(request).status
            expect(status == 401, f"{request} gets {status}.")
