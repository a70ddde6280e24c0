import uuid

from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast


@check(
    Level.KEPT,
    why="An app that was offline while a podcast got another guid loses it.",
    seen="OpenPodcastAPI/api-specs, subscriptions/update.mdx",
    spec="Draft A: the old guid stays linked to the subscription; `new_guid` names the new one.",
)
def a_renamed_guid_leads_on(server: OpenPodcast) -> None:
    """After `new_guid`, the new guid finds the subscription, and all old ones redirect to it."""
    old, new, newest = server.add_one(server.feed())["guid"], str(uuid.uuid4()), str(uuid.uuid4())
    changed = server.patch(old, new_guid=new)
    expect(changed.get("new_guid") == new, f"The reply is {changed}.")
    expect(bool(changed.get("guid_changed")), "The reply has no `guid_changed`.")
    expect(server.get(new)["feed_url"] == server.feed(), "It is not found by its new guid.")
    led = server.get(old)
    expect(led.get("new_guid") == new, f"Its old guid returns {led}.")
    server.patch(new, new_guid=newest)
    steps, guid = 0, old
    while steps < 3 and (following := server.get(guid).get("new_guid")):
        steps, guid = steps + 1, following
    expect(guid == newest, f"After two changes, the first guid leads to {guid}.")
