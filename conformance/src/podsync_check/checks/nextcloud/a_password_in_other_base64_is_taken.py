import base64
from dataclasses import replace

from podsync_check.checking import Level, NotApplicable, check
from podsync_check.messages import expect_status
from podsync_check.servers import Nextcloud


@check(
    Level.TOLERANT,
    why="Kodi's podcast add-on uses it: with some passwords, it cannot log in.",
    seen="Kodi plugin.audio.podcasts",
    spec="RFC 7617: the usual alphabet; nothing else uses its two further signs.",
    only_reads=True,
)
def a_password_in_other_base64_is_taken(server: Nextcloud) -> None:
    """A password in the URL-safe alphabet of base64 is accepted."""
    pair = f"{server.credential.name}:{server.credential.secret}".encode()
    text = base64.urlsafe_b64encode(pair).decode()
    if text == base64.b64encode(pair).decode():
        raise NotApplicable("This password reads the same in both alphabets.")
    request = server.app().calls.changes(0).request
    headers = {**request.headers, "Authorization": f"Basic {text}"}
    expect_status(server.stranger().send(replace(request, headers=headers)), 200)
