"""Fixtures shared by the contract tests."""

import httpx
import pytest
from asking import told
from feedkeep_process import from_elsewhere


@pytest.fixture
def anyone(feedkeep):
    """A client that shows nothing by itself."""
    with httpx.Client(base_url=feedkeep.base_url, headers=from_elsewhere(), timeout=30) as client:
        yield client


@pytest.fixture
def add(api):
    """Adds feeds, given as URLs or as (URL, guid); returns the one success item, or the reply."""

    def send(*items):
        wanted = [
            {"feed_url": item} if isinstance(item, str) else {"feed_url": item[0], "guid": item[1]}
            for item in items
        ]
        body = told(api.post("/subscriptions", json={"subscriptions": wanted}))
        return body["success"][0] if len(items) == 1 and body["success"] else body

    return send
