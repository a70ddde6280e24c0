from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.SAFE,
    why="Strangers can read and change what a user listens to.",
    seen="oxtyped/gpodder2go offers --no-auth",
    spec="gpodder.net, Authentication API: all of these need a user.",
    only_reads=True,
)
def strangers_get_nothing(server: UrlLists) -> None:
    """Requests without a credential get 401, and change nothing."""
    calls = server.app().calls
    requests = [
        calls.changes(0).request,
        calls.upload([server.feed()], []).request,
        calls.actions(0).request,
        calls.upload_actions([server.play(server.feed())]).request,
    ]
    for request in requests:
        status = server.stranger().send(request).status
        expect(status in {401, 403}, f"{request} gets {status}.")
    expect(not server.mine(server.app().changes().add), "A stranger has added a feed.")
