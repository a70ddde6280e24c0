import base64
from dataclasses import replace

from podsync_check.checking import Level, NotApplicable, check
from podsync_check.messages import expect_status
from podsync_check.servers import UrlLists


@check(
    Level.TOLERANT,
    why="A user whose password has an umlaut can sign in in the browser, but not on the phone.",
    seen="OkHttp, of AntennaPod: Credentials.basic takes Latin-1",
    spec="RFC 7617 leaves the encoding open unless the server names UTF-8, which OkHttp ignores.",
    only_reads=True,
)
def a_password_in_latin_1_is_taken(server: UrlLists) -> None:
    """A name and password are accepted in Latin-1 as in UTF-8."""
    pair = f"{server.credential.name}:{server.credential.secret}"
    if pair.isascii():
        raise NotApplicable("This name and password are the same in both encodings.")
    try:
        text = base64.b64encode(pair.encode("latin-1")).decode()
    except UnicodeEncodeError:
        raise NotApplicable("This name or password cannot be written in Latin-1.") from None
    asked = server.app().login or server.app().calls.changes(0).request
    headers = {**asked.headers, "Authorization": f"Basic {text}"}
    expect_status(server.stranger().send(replace(asked, headers=headers)), 200)
