"""Detection of URLs of feeds that only their owner should fetch."""

import random
import re
import string
import uuid

import pytest

from feedkeep.model import Fetch
from feedkeep.rules.personal_urls import looks_personal, may_look_at

MEMBERS_QUERIES = [
    "TOKEN=abc", "rss-token=a1", "user_key=a1", "pass=a1", "passkey=a1", "memberkey=a1",
    "rsskey=a1", "wpmkey=a1", "accesstoken=a1", "pwd=a1", "hash=4gtr9k2b", "SID=c0a1e9f47b",
    "session=x7y1q8z2",
]  # fmt: skip


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
        "https://www.patreon.com/rss/show",
        "https://subscribers.transistor.fm/b39",
        *(f"https://club.example/feed?{query}" for query in MEMBERS_QUERIES),
        "https://rss.club.example/private/abc",
        "https://feeds.redcircle.com@members.example/feed",
        "https://members.example/https://feeds.redcircle.com/6f1a9c8e-5b7d-4c3a-9e2f-1a2b3c4d5e6f",
        "https://notyoutube.com/feeds/videos.xml?channel_id=UCqP3vXyZ0aB9cD8eF7gH6iJ",
        "https://www.youtube.com/feeds/videos.xml?key=qP3vXyZ0aB9cD8eF7gH6iJ",
    ],
)
def test_url_that_looks_like_one_persons_own_is_not_looked_at(url):
    assert looks_personal(url)
    assert not may_look_at(url, Fetch.PUBLIC)
    assert may_look_at(url, Fetch.PUBLIC, is_permitted=True)
    assert may_look_at(url, Fetch.ALL)
    assert not may_look_at(url, Fetch.OFF, is_permitted=True)


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
        "https://notpatreon.com/rss/show",
        "https://feeds.example/feed?token=",
        "https://feeds.example/feed?sid=269&hash=podcasts&session=2026-autumn",
        "https://feeds.example/feed?sid=25/11/25/157251",
        "https://feeds.example/feed?sid=a1b2c3d",
        "https://feeds.example/feed?keyword=news&author=me&compass=north",
        "https://feeds.example/private-parts",
        "https://www.youtube.com/channel/UCBJycsmduvYEL83R_U4JriQ",
        "https://rsshub.example/youtube/channel/UCBJycsmduvYEL83R_U4JriQ",
        "https://open.spotify.com/show/4rOoJ6Egrf8K2IrywzwOMk",
        "https://FEEDS.redcircle.com./6f1a9c8e-5b7d-4c3a-9e2f-1a2b3c4d5e6f/",
    ],
)
def test_url_of_words_and_numbers_is_public(url):
    assert not looks_personal(url)
    assert may_look_at(url, Fetch.PUBLIC)


def test_of_the_keys_that_programs_make_few_in_a_hundred_look_like_words():
    chance = random.Random(1)
    for alphabet in (string.hexdigits[:16], string.ascii_letters + string.digits + "-_"):
        keys = ["".join(chance.choices(alphabet, k=24)) for _ in range(1_000)]
        assert sum(looks_personal(f"https://members.example/{key}") for key in keys) > 970


PUBLIC = (
    "https://www.omnycontent.com/d/playlist/{uuid}/{uuid}/{uuid}/podcast.rss",
    "https://traffic.omny.fm/d/playlist/{uuid}/{uuid}/{uuid}/podcast.rss",
    "https://feeds.acast.com/public/shows/{uuid}",
    "https://feeds.acast.com/public/shows/{hex24}",
    "https://feed.pippa.io/public/shows/{hex24}",
    "https://access.acast.com/rss/{hex24}/default",
    "https://access.acast.com/rss/{uuid}",
    "https://feeds.redcircle.com/{uuid}",
    "https://serve.podhome.fm/rss/{uuid}",
    "https://wavlake.com/feed/music/{uuid}",
    "https://wavlake.com/feed/{uuid}",
    "https://www.listennotes.com/c/r/{hex32}",
    "https://fetchrss.com/rss/{hex24}.xml",
    "https://feeds.megaphone.fm/ABC{digits10}",
    "https://feeds.simplecast.com/{key8}",
    "https://rss.buzzsprout.com/{digits7}.rss",
    "https://anchor.fm/s/{hex8}/podcast/rss",
    "https://audioboom.com/channels/{digits7}.rss",
    "https://www.spreaker.com/show/{digits7}/episodes/feed",
    "https://feeds.soundcloud.com/users/soundcloud:users:{digits9}/sounds.rss",
    "https://feed.ausha.co/{base12}",
    "https://feeds.zencastr.com/f/{key8}.rss",
    "https://feeds.audiomeans.fr/feed/{uuid}.xml",
    "https://feeds.soundon.fm/podcasts/{uuid}.xml",
    "https://feed.firstory.me/rss/user/c{base24}",
    "https://rss.castbox.fm/everest/{hex32}.xml",
    "https://feeds.hubhopper.com/{hex32}.rss",
    "https://feeds.360.audion.fm/{key21}",
    "https://rss.hosting.thisisdax.com/{uuid}",
    "https://letscast.fm/podcasts/a-show-with-guests-{hex8}/feed",
    "https://radiofrance-podcast.net/podcast09/{uuid}/podcast_{uuid}.xml",
    "https://www.youtube.com/feeds/videos.xml?channel_id=UC{key22}",
    "https://www.youtube.com/feeds/videos.xml?playlist_id=PL{key32}",
    "https://us2.campaign-archive.com/feed?u={hex25}&id={hex10}",
)
"""URLs of public feeds whose hosts use random-looking ids."""

PRIVATE = (
    "https://www.patreon.com/rss/show?auth={key32}",
    "https://www.patreon.com/rss/show?auth={hex32}&show=1335480",
    "https://show.supportingcast.fm/content/eyJ0IjoicCIs{key32}.rss",
    "https://show.supercast.com/feed/{hex8}",
    "https://show.memberful.com/rss/1234?auth={key22}",
    "https://app.helloaudio.fm/feed/{hex8}",
    "https://show.glow.fm/feed/{hex8}",
    "https://www.floatplane.com/rss/{hex8}",
    "https://www.buymeacoffee.com/feed/{hex8}",
    "https://steadyhq.com/rss/show?auth={uuid}",
    "https://rss.show.passport.online/feed/podcast/{key22}",
    "https://subscribers.transistor.fm/{hex14}",
    "https://api.substack.com/feed/podcast/1084/private/{uuid}.rss",
    "https://access.acast.com/rss/{hex24}/{key22}",
    "https://feeds.acast.com/private/shows/{hex24}",
    "https://feeds.redcircle.com/{uuid}/{key22}",
    "https://feeds.redcircle.com/{uuid}?token={hex8}",
    "https://www.omnycontent.com/d/playlist/{uuid}/{uuid}/{uuid}/podcast.rss?key={key22}",
    "https://www.youtube.com/feeds/videos.xml?channel_id=UC{key22}&key={key22}",
    "https://feeds.megaphone.fm/ABC1234567890?auth_token={hex8}",
    "https://club.example/feed/premium/{key32}",
    "https://club.example/private_feed/{hex32}?format=mp4",
    "https://club.example/rss?{uuid}",
    "https://anna:{hex8}@club.example/feed",
)
"""URLs of members' feeds, which contain a key."""


def invented(template: str, chance: random.Random) -> str:
    """Return a template with ids of its kinds that are drawn."""
    letters = {
        "hex": "0123456789abcdef",
        "digits": string.digits,
        "base": string.digits + string.ascii_lowercase,
        "key": string.ascii_letters + string.digits + "-_",
    }

    def drawn(match: re.Match[str]) -> str:
        if match[0] == "{uuid}":
            return str(uuid.UUID(int=chance.getrandbits(128), version=4))
        return "".join(chance.choices(letters[match[1]], k=int(match[2])))

    return re.sub(r"\{(?:uuid|([a-z]+)(\d+))\}", drawn, template)


@pytest.mark.parametrize("template", PUBLIC)
def test_id_that_its_host_gives_to_public_feeds_is_no_secret(template):
    chance = random.Random(1)
    assert not any(looks_personal(invented(template, chance)) for _ in range(200))


@pytest.mark.parametrize("template", PRIVATE)
def test_at_most_four_in_a_hundred_of_the_addresses_of_members_pass_for_public(template):
    chance = random.Random(1)
    assert sum(not looks_personal(invented(template, chance)) for _ in range(1_000)) <= 40
