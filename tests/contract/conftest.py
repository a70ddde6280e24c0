"""What the contract tests share: names for feeds, and short ways to send the usual requests."""

from collections.abc import Callable
from typing import Any

import pytest

Add = Callable[..., dict[str, Any]]


@pytest.fixture
def add(api):
    """Adds feeds, given as URLs or as (URL, guid); returns the one success item, or the reply."""

    def send(*items):
        wanted = [
            {"feed_url": item} if isinstance(item, str) else {"feed_url": item[0], "guid": item[1]}
            for item in items
        ]
        reply = api.post("/subscriptions", json={"subscriptions": wanted})
        assert reply.status_code == 200, reply.text
        body: dict[str, Any] = reply.json()
        if len(items) == 1 and body["success"]:
            only: dict[str, Any] = body["success"][0]
            return only
        return body

    return send
