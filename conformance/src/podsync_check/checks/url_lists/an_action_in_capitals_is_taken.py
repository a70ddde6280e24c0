from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.TOLERANT,
    why="AntennaPod's plays do not reach Kasts, or the reverse.",
    seen="thrillfall/nextcloud-gpodder returns PLAY, gpodder.net play",
    spec="gpodder.net, Episode Actions API: lower case. Nextcloud's own examples: capitals.",
)
def an_action_in_capitals_is_taken(server: UrlLists) -> None:
    """An action in capital letters is accepted, and listed with its position."""
    phone, laptop = server.apps(2)
    phone.upload_actions(server.play(server.feed(), action="PLAY"))
    plays = laptop.played(server.feed())
    expect(bool(plays), "The action is not returned.")
    told = plays[-1]
    expect(str(told.get("action")).lower() == "play", f"It is returned as {told.get('action')!r}.")
    expect(told.get("position") == 120, f"Its position is {told.get('position')!r}.")
    if told.get("action") != "play":
        server.note(f"Actions are returned as {told.get('action')}: gPodder reads only lower case.")
