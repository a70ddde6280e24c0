from podsync_check.checking import Level, check
from podsync_check.servers import UrlLists
from podsync_check.simulated.scripts import expect_no_loss


@check(
    Level.AGREED,
    why="Phone, laptop and player each show another list, and plays are lost.",
    seen="madeofpendletonwool/PinePods#526",
    spec="gpodder.net and Nextcloud: devices of one account have one list.",
)
def random_interleavings_lose_nothing(server: UrlLists) -> None:
    """Apps that behave like real ones end with the same list, whatever the order of requests."""
    expect_no_loss(server)
