"""Which URLs of feeds nobody but their owner should ask for."""

from __future__ import annotations

import random
import string

import pytest

from feedkeep.model import Fetch
from feedkeep.rules.personal_urls import looks_personal, may_look_at


@pytest.mark.parametrize(
    "url",
    [
        "https://user:secret@members.example/feed",
        "https://user@members.example/feed",
        "https://members.example/rss/show?auth=kPq3vXyZ0aB9cD8eF7gH6iJ5kL4mN3oP",
        "https://members.example/rss?kPq3vXyZ0aB9cD8eF7gH6iJ5kL4mN3oP",
        "https://members.example/6f1a9c8e-5b7d-4c3a-9e2f-1a2b3c4d5e6f/feed.xml",
        "https://members.example/aGVsbG8gd29ybGQgdGhpcyBpcyBh.rss",
        "https://members.example/a%47VsbG8gd29ybGQgdGhpcyBpcyBh.rss",
        "https://[broken/feed",
    ],
)
def test_a_url_that_looks_like_one_persons_own_is_not_looked_at(url: str) -> None:
    assert looks_personal(url)
    assert not may_look_at(url, Fetch.PUBLIC)
    assert may_look_at(url, Fetch.ALL)
    assert not may_look_at(url, Fetch.OFF)


@pytest.mark.parametrize(
    "url",
    [
        "https://feeds.example/the-daily-news-2026-edition-podcast",
        "https://feeds.example/InTheMiddleOfTheNightPodcast/rss",
        "https://feeds.example/s/1234abcd/podcast/rss",
        "https://feeds.example/ADL9840290619",
        "https://feeds.example/episodes-2021-2022-2023-2024-2025",
        "https://feeds.example/12345678901234567890123",
        "https://feeds.example/feed?format=xml&category=technology-and-science",
        "https://feeds.example/",
    ],
)
def test_a_url_of_words_and_numbers_is_public(url: str) -> None:
    assert not looks_personal(url)
    assert may_look_at(url, Fetch.PUBLIC)


def test_of_the_keys_that_programs_make_few_in_a_hundred_look_like_words() -> None:
    chance = random.Random(1)
    for alphabet in (string.hexdigits[:16], string.ascii_letters + string.digits + "-_"):
        keys = ["".join(chance.choices(alphabet, k=24)) for _ in range(1_000)]
        assert sum(looks_personal(f"https://members.example/{key}") for key in keys) > 970
