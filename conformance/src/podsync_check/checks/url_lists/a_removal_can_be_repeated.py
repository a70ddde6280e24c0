from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.KEPT,
    why="AntennaPod keeps a change until it is accepted: a rejected one blocks all later ones.",
    seen="gpodder/mygpo#786",
    spec="Silent.",
)
def a_removal_can_be_repeated(server: UrlLists) -> None:
    """Removing a feed that is gone or never existed is accepted, together with other changes."""
    phone, laptop = server.apps(2)
    first, second, third = server.feeds(3)
    phone.upload(add=[first])
    phone.upload(remove=[first])
    phone.upload(add=[third], remove=[first, second])
    got = server.mine(laptop.changes().add)
    expect(got == [third], f"The list is {got}; it should be only the third feed.")
