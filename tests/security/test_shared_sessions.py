"""Shared sessions: begun once for all that show the same, remembered without the secret."""

import asyncio

import pytest

from feedkeep.model import AccountId, DocumentKind, DocumentName
from feedkeep.model.errors import NotAuthorized
from feedkeep.security import tokens
from feedkeep.security.tokens import SharedSession, SharedSessions

DOCUMENT = DocumentName(DocumentKind.COOKIELESS, "app password  Kasts")


class Begun:
    """Begins sessions, and counts them; each takes until the loop comes round again."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.count = 0

    async def __call__(self) -> SharedSession:
        self.count += 1
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop()
        return SharedSession(AccountId(1), "password", f"fs_{self.count}", b"", DOCUMENT)


@pytest.fixture
def shared():
    return SharedSessions()


def test_the_same_secret_has_one_mark_and_no_other_has_it():
    shared = SharedSessions()
    shown = {("Basic a", "app"), ("Basic a", "ap"), ("Basic", " aapp"), ("Basic aa", "pp")}
    assert len({shared.mark(*one) for one in shown}) == len(shown)
    assert shared.mark("Basic a", "app") == shared.mark("Basic a", "app")
    assert shared.mark("Basic a", "app") != SharedSessions().mark("Basic a", "app")


async def test_many_at_once_begin_one_session_and_later_requests_find_it(shared):
    begin = Begun()
    found = await asyncio.gather(*(shared.begun(b"a", begin) for _ in range(9)))
    assert [await shared.begun(b"a", begin), shared.find(b"a")] == found[:2]
    assert (len(set(map(id, found))), begin.count) == (1, 1)
    assert shared.find(b"b") is None


async def test_a_failure_is_repeated_and_a_client_that_leaves_takes_the_session_from_no_other(
    shared,
):
    begin = Begun(NotAuthorized())
    with pytest.raises(NotAuthorized):
        await shared.begun(b"a", begin)
    first, second = (asyncio.ensure_future(shared.begun(b"a", begin)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second is shared.find(b"a")
    assert begin.count == 2


async def test_only_the_session_that_ended_is_forgotten(shared):
    begin = Begun()
    ended = await shared.begun(b"a", begin)
    shared.forget(b"a", ended)
    newer = await shared.begun(b"a", begin)
    assert newer.text != ended.text
    shared.forget(b"a", ended)
    assert shared.find(b"a") is newer


async def test_the_session_unused_for_longest_makes_room(monkeypatch, shared):
    monkeypatch.setattr(tokens, "MAX_REMEMBERED", 2)
    begin = Begun()
    for mark in (b"a", b"b"):
        await shared.begun(mark, begin)
    shared.find(b"a")
    await shared.begun(b"c", begin)
    assert [shared.find(mark) is not None for mark in (b"a", b"b", b"c")] == [True, False, True]


async def test_nothing_that_is_remembered_holds_what_was_shown(shared):
    await shared.begun(shared.mark("Basic b3BlbnNlc2FtZQ==", "app"), Begun())
    assert "b3BlbnNlc2FtZQ" not in repr(shared.__dict__)
    assert "fs_1" not in repr(shared.__dict__)
