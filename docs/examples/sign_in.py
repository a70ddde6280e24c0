"""Gets a token for an app: its owner signs in to feedkeep in a browser. Python alone is enough.

FEEDKEEP_TOKEN=$(python sign_in.py https://feeds.example "My app")
... sign_in.py https://feeds.example "My app" read    (a token that changes nothing)
"""

import json
import sys
import time
import urllib.error
import urllib.request
import webbrowser
from typing import Any
from urllib.parse import urlencode

POLL_SECONDS = 1
PATIENCE_SECONDS = 1200  # the service forgets the login then


def post(url: str, **values: str) -> Any:
    """Send a form, and return the JSON of the reply."""
    with urllib.request.urlopen(url, urlencode(values).encode(), timeout=30) as reply:
        return json.load(reply)


def main(service: str, app: str, scope: str = "write") -> str:
    """Return the token, once the owner has let the app in."""
    begun = post(f"{service}/index.php/login/v2?{urlencode({'app': app, 'scope': scope})}")
    print("Sign in here:", begun["login"], file=sys.stderr)
    webbrowser.open(begun["login"])
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        try:
            return post(begun["poll"]["endpoint"], token=begun["poll"]["token"])["appPassword"]
        except urllib.error.HTTPError as error:
            if error.code not in {404, 503}:  # not yet, or not now
                raise
        except OSError:
            pass  # no network; the reply with the token may be lost, and then this ends in time
        time.sleep(POLL_SECONDS)
    sys.exit("The owner did not sign in. Start again.")


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
