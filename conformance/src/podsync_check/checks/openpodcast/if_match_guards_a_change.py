from dataclasses import replace

from podsync_check.checking import Level, NotApplicable, check, expect
from podsync_check.messages import Request, expect_status, json_request
from podsync_check.servers import OpenPodcast


@check(
    Level.COMPLETE,
    why="A change that a phone queued a week ago undoes yesterday's change.",
    seen="feedkeep, docs/contract.md, 6",
    spec="Silent; RFC 9110, 13.1.1, defines `If-Match`.",
    is_decision=True,
)
def if_match_guards_a_change(server: OpenPodcast) -> None:
    """A change with an outdated ETag gets 412, and has no effect."""
    guid = server.add_one(server.feed())["guid"]
    target = f"{server.prefix}/subscriptions/{guid}"
    tag = server.session().send(Request("GET", target)).headers.get("etag", "")
    if not tag:
        raise NotApplicable("Subscriptions have no ETag.")
    server.patch(guid, is_subscribed=False)
    change = json_request("PATCH", target, {"is_subscribed": True})
    guarded = replace(change, headers={**change.headers, "If-Match": tag})
    expect_status(server.session().send(guarded), 412)
    expect(server.get(guid)["is_subscribed"] is False, "It is changed anyway.")
