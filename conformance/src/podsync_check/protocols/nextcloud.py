"""Nextcloud's gpoddersync: its four requests."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from podsync_check.messages import Call, Reply, Request, json_request
from podsync_check.protocols.url_lists import (
    Action,
    Actions,
    Changes,
    Uploaded,
    read_actions,
    read_changes,
    read_uploaded,
)

_APP = "/index.php/apps/gpoddersync"


class NextcloudCalls:
    """Requests of one app; the protocol has no devices."""

    def changes(self, since: int) -> Call[Changes]:
        return Call(Request("GET", f"{_APP}/subscriptions?since={since}"), read_changes)

    def upload(self, add: Sequence[str], remove: Sequence[str]) -> Call[Uploaded]:
        sent = {"add": list(add), "remove": list(remove)}
        return Call(json_request("POST", f"{_APP}/subscription_change/create", sent), _uploaded)

    def actions(self, since: int, **more: str) -> Call[Actions]:
        query = urlencode({"since": since, **more})
        return Call(Request("GET", f"{_APP}/episode_action?{query}"), read_actions)

    def upload_actions(self, actions: Sequence[Action]) -> Call[Uploaded]:
        sent = list(actions)
        return Call(json_request("POST", f"{_APP}/episode_action/create", sent), _uploaded)


def _uploaded(reply: Reply) -> Uploaded:
    # AntennaPod uses its own clock for the next `since`, and ignores the reply.
    return read_uploaded(reply, is_timestamp_needed=False)
