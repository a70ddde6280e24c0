from podsync_check.checking import Level, check, expect
from podsync_check.servers import Nextcloud

TRIES = 2
MAX_SECONDS_AHEAD = 60


@check(
    Level.AGREED,
    why="A podcast added on the laptop while the phone syncs never reaches the phone.",
    seen="AntennaPod, with Nextcloud: after an upload it uses the phone's clock",
    spec="Silent: the reply to an upload has no timestamp there.",
)
def since_its_own_clock_misses_nothing(server: Nextcloud) -> None:
    """An app whose next `since` is its own clock after an upload misses no earlier change."""
    phone, laptop = server.apps(2)
    added, known = server.feeds(TRIES), set[str]()
    for _ in range(MAX_SECONDS_AHEAD):  # earlier checks may have pushed the server's clock ahead
        since = phone.changes().timestamp
        if since < server.connection.clock():
            break
        server.wait_for_the_next_second()
    for number, feed in enumerate(added):
        known.update(phone.changes(since).add)
        laptop.upload(add=[feed])  # between the phone's poll and its upload
        for _ in range(2):  # some servers stamp a change with the next second
            server.wait_for_the_next_second()
        phone.upload(add=[server.feed(f"own-{number}")])
        since = int(server.connection.clock())
    known.update(phone.changes(since).add)
    lost = len(set(added) - known)
    expect(lost == 0, f"Of {TRIES} feeds that another device added meanwhile, {lost} are lost.")
