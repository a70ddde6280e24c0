"""Accounts, URLs and guids of the tests of stores."""

from feedkeep.model import Account, AccountId, Guid
from feedkeep.rules.feed_urls import parse_feed_url

ALICE, BOB = AccountId(2**63 - 1), AccountId(1)
A, B = "https://a.example/feed", "https://b.example/feed"


def guid_of(number):
    return Guid(f"00000000-0000-4000-8000-{number:012}")


G1, G2, G3 = (guid_of(number) for number in (1, 2, 3))


def derived(url):
    return parse_feed_url(url).guid


def account(account_id=ALICE, name="Alice"):
    return Account(account_id, name, "hash", False, 123)
