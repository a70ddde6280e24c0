from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast


@check(
    Level.AGREED,
    why="Every podcast whose publisher switched to https is listed twice.",
    seen="gpodder/mygpo#620",
    spec="Silent; the guid of Podcasting 2.0 omits the scheme and trailing slashes.",
    is_decision=True,
)
def http_and_https_are_one_feed(server: OpenPodcast) -> None:
    """A feed by http, by https, and with a trailing slash is one subscription."""
    plain = server.feed().removeprefix("https://")
    urls = [f"https://{plain}", f"http://{plain}", f"https://{plain}/"]
    guids = {server.add_one(url)["guid"] for url in urls}
    expect(len(guids) == 1, f"They are {len(guids)} subscriptions.")
