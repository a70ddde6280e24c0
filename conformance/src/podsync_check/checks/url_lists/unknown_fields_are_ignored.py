from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.TOLERANT,
    why="A newer app sends an additional field, and its uploads are refused.",
    seen="AntennaPod added `guid` to actions",
    spec="Silent.",
)
def unknown_fields_are_ignored(server: UrlLists) -> None:
    """An action with a guid and an unknown field is accepted."""
    phone, laptop = server.apps(2)
    phone.upload_actions(server.play(server.feed(), guid="tag:example,2026:1", speed=1.5))
    plays = laptop.played(server.feed())
    expect(bool(plays), "The action is not returned.")
    if plays[-1].get("guid") != "tag:example,2026:1":
        server.note("Guids of episodes are not returned: apps know them only by their URLs.")
