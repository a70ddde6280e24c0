from podsync_check.checking import Level, check, expect
from podsync_check.servers import Gpodder


@check(
    Level.COMPLETE,
    why='"Upload local subscriptions" of gPodder does nothing.',
    seen="gpodder/gpodder, my.py",
    spec="gpodder.net, Subscriptions API: PUT replaces the list of the device.",
)
def a_whole_list_can_be_replaced(server: Gpodder) -> None:
    """After a list is replaced, the new one is read, without feeds of the old one."""
    app = server.app()
    first, second = server.feeds(2)
    app.upload(add=[first])
    others = [url for url in app.session.ask(app.calls.whole_list()).json() if url != first]
    app.session.ask(app.calls.put_list([*others, second]))
    got = server.mine(app.session.ask(app.calls.whole_list()).json())
    expect(got == [second], f"The list is {got}; it should be only the second feed.")
