from podsync_check.checking import Level, check, expect
from podsync_check.servers import Gpodder


@check(
    Level.TOLERANT,
    why="gPodder treats any text in the reply as a failure, and says that it could not connect.",
    seen="gpodder/mygpoclient, api.py: `return self._client.POST(...) == b''`",
    spec="gpodder.net, Device API: 200; silent about the body.",
)
def a_change_of_a_device_is_answered_emptily(server: Gpodder) -> None:
    """The reply to a device's description, and to a full list, has an empty body."""
    app = server.app()
    described = app.session.ask(app.calls.describe(caption="Laptop", type="laptop"))
    expect(not described.body, f"The reply to the description is {described.text!r:.80}.")
    listed = app.session.ask(app.calls.whole_list()).json()
    put = app.session.ask(app.calls.put_list([*listed, server.feed()]))
    expect(not put.body, f"The reply to the list is {put.text!r:.80}.")
