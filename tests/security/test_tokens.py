"""Tokens, ids and codes; and shared sessions, begun once for all that show the same secret."""

import asyncio
import hashlib
import re

import pytest

from feedkeep.model import AccountId, DocumentKind, DocumentName
from feedkeep.model.errors import NotAuthorized
from feedkeep.rules.credentials import read_token, recovery_hash
from feedkeep.security import tokens
from feedkeep.security.tokens import SharedSession, SharedSessions

DOCUMENT = DocumentName(DocumentKind.COOKIELESS, "app password  Kasts")


def test_tokens_and_ids_are_unique_and_a_token_has_its_account():
    assert len({tokens.new_token(AccountId(5)) for _ in range(1_000)}) == 1_000
    assert len({tokens.new_account_id() for _ in range(1_000)}) == 1_000
    account_id = tokens.new_account_id()
    assert read_token(tokens.new_token(account_id)).account_id == account_id


def test_a_recovery_code_has_80_random_bits_and_is_read_however_it_is_typed():
    codes = {tokens.new_recovery_code() for _ in range(1_000)}
    assert len(codes) == 1_000
    for code in codes:
        assert re.fullmatch(r"(?:[a-km-np-z2-9]{4}-){3}[a-km-np-z2-9]{4}", code)
    assert len(set("".join(codes)) - {"-"}) == 32
    plain = code.replace("-", "")
    for typed in (code, code.upper(), plain, f" {code.replace('-', ' ')}\n", "-".join(plain)):
        assert recovery_hash(typed) == hashlib.sha256(plain.encode()).digest()
    cut, odd = "abcd-efgh-ijkm", "abcd-efgh-ijkm-npq"
    for text in ("", cut, f"{odd}1", f"{odd}o", "a" * 17, "- " * 99):
        assert recovery_hash(text) is None


class Begun:
    """Begins sessions, and counts them; each takes until the loop comes round again."""

    def __init__(self, *failures):
        self.failures = list(failures)
        self.count = 0

    async def __call__(self):
        self.count += 1
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop()
        return SharedSession(AccountId(1), "password", f"fs_{self.count}", b"", DOCUMENT)


@pytest.fixture
def shared():
    return SharedSessions()


async def test_a_secret_has_one_mark_and_is_not_kept(shared):
    shown = {("Basic a", "app"), ("Basic a", "ap"), ("Basic", " aapp"), ("Basic aa", "pp")}
    assert len({shared.mark(*one) for one in shown}) == len(shown)
    assert shared.mark("Basic a", "app") == shared.mark("Basic a", "app")
    assert shared.mark("Basic a", "app") != SharedSessions().mark("Basic a", "app")
    await shared.begun(shared.mark("Basic b3BlbnNlc2FtZQ==", "app"), Begun())
    assert "b3BlbnNlc2FtZQ" not in repr(shared.__dict__)
    assert "fs_1" not in repr(shared.__dict__)


async def test_many_at_once_begin_one_session_and_later_requests_find_it(shared):
    begin = Begun()
    found = await asyncio.gather(*(shared.begun(b"a", begin) for _ in range(9)))
    assert [await shared.begun(b"a", begin), shared.find(b"a")] == found[:2]
    assert (len(set(map(id, found))), begin.count) == (1, 1)
    assert shared.find(b"b") is None
    [ended, *_] = found
    shared.forget(b"a", ended)
    newer = await shared.begun(b"a", begin)
    assert newer.text != ended.text
    shared.forget(b"a", ended)  # which is not the one that is there
    assert shared.find(b"a") is newer


async def test_a_failed_or_cancelled_request_leaves_the_session_to_others(shared):
    begin = Begun(NotAuthorized())
    with pytest.raises(NotAuthorized):
        await shared.begun(b"a", begin)
    first, second = (asyncio.ensure_future(shared.begun(b"a", begin)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second is shared.find(b"a")
    assert begin.count == 2


async def test_the_session_unused_for_longest_makes_room(monkeypatch, shared):
    monkeypatch.setattr(tokens, "MAX_REMEMBERED", 2)
    begin = Begun()
    for mark in (b"a", b"b"):
        await shared.begun(mark, begin)
    shared.find(b"a")
    await shared.begun(b"c", begin)
    assert [shared.find(mark) is not None for mark in (b"a", b"b", b"c")] == [True, False, True]
