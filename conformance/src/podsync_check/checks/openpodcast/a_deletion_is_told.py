from podsync_check.checking import Level, check, expect
from podsync_check.messages import expect_status
from podsync_check.servers import OpenPodcast


@check(
    Level.KEPT,
    why="A podcast deleted on the phone stays on the laptop, and comes back from there.",
    seen="OpenPodcastAPI/api-specs, subscriptions/delete.mdx",
    spec="Draft A: 202, then 410 for the guid; the list has it with `deleted`.",
)
def a_deletion_is_told(server: OpenPodcast) -> None:
    """A deleted subscription gets 410, and is listed with the time of its deletion."""
    item = server.add_one(server.feed())
    done = server.delete(item["guid"])
    expect(isinstance(done.get("deletion_id"), int), f"The reply is {done}.")
    status = server.send("GET", f"/{done['deletion_id']}", base="/deletions")
    expect_status(status, 200)
    expect(status.json().get("status") in {"SUCCESS", "PENDING"}, f"It is {status.json()}.")
    expect_status(server.send("GET", f"/{item['guid']}"), 410)
    entries = server.listed(since=item["subscription_changed"])
    told = [entry for entry in entries if entry.get("deleted")]
    expect(len(told) == 1, "A device that polls since the addition does not receive the deletion.")
    expect_status(server.send("DELETE", f"/{item['guid']}"), 404)
