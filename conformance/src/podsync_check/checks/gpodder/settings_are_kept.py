from podsync_check.checking import Level, check, expect
from podsync_check.messages import expect_status, json_request
from podsync_check.servers import Gpodder


@check(
    Level.COMPLETE,
    why="An app's stored settings are lost, or each start of the app shows an error.",
    seen="gpodder/mygpoclient, get_settings and set_settings",
    spec="gpodder.net, Settings API.",
)
def settings_are_kept(server: Gpodder) -> None:
    """A setting of the account is stored, and can be removed."""
    app = server.app()
    target = f"/api/2/settings/{server.user}/account.json"

    def change(body: object) -> object:
        reply = app.session.send(json_request("POST", target, body))
        expect_status(reply, 200)
        return reply.json()

    got = change({"set": {server.mark: "on"}, "remove": []})
    expect(isinstance(got, dict) and got.get(server.mark) == "on", f"The reply is {got!r:.200}.")
    got = change({"set": {}, "remove": [server.mark]})
    expect(isinstance(got, dict) and server.mark not in got, "It is still there after its removal.")
