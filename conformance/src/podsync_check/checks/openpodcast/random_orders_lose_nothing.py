from podsync_check.checking import Level, check
from podsync_check.servers import OpenPodcast
from podsync_check.simulated.scripts import expect_no_loss


@check(
    Level.AGREED,
    why="Phone and laptop show different lists after a day without a network.",
    seen="madeofpendletonwool/PinePods#526",
    spec="OpenPodcastAPI/api-specs, subscriptions: `since`, and requests that can be repeated.",
)
def random_orders_lose_nothing(server: OpenPodcast) -> None:
    """Strict apps end with the same list, whatever the order of requests and lost replies."""
    expect_no_loss(server)
