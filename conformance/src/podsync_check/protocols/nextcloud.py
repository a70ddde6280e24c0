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
    """The requests of one app; the protocol knows no devices."""

    def changes(self, since: int) -> Call[Changes]:
        """Ask what changed since a second."""
        return Call(Request("GET", f"{_APP}/subscriptions?since={since}"), read_changes)

    def upload(self, add: Sequence[str], remove: Sequence[str]) -> Call[Uploaded]:
        """Tell what was added and removed on the device."""
        sent = {"add": list(add), "remove": list(remove)}
        return Call(json_request("POST", f"{_APP}/subscription_change/create", sent), _uploaded)

    def actions(self, since: int, **more: str) -> Call[Actions]:
        """Ask what was played since a second; `more` is further parameters."""
        query = urlencode({"since": since, **more})
        return Call(Request("GET", f"{_APP}/episode_action?{query}"), read_actions)

    def upload_actions(self, actions: Sequence[Action]) -> Call[Uploaded]:
        """Tell what was played on the device."""
        sent = list(actions)
        return Call(json_request("POST", f"{_APP}/episode_action/create", sent), _uploaded)


def _uploaded(reply: Reply) -> Uploaded:
    # AntennaPod takes its own clock for the next `since`, and reads nothing of the reply.
    return read_uploaded(reply, is_timestamp_needed=False)
