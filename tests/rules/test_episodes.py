"""The episodes of a feed are found in the actions of its podcast, and have a playing state."""

import pytest

from feedkeep.model import Episode, EpisodeAction, Stamp, replace
from feedkeep.rules import episodes as rules
from feedkeep.rules.episode_actions import SentAction, judge
from feedkeep.rules.episodes import Playing, digest_of_file, digest_of_guid, named, playing

PODCAST = "https://show.example/feed"


def file(number: int) -> str:
    return f"https://show.example/{number}.mp3?token=secret"


def episode(number: int, **fields: object) -> Episode:
    one = Episode(
        f"Episode {number}",
        guid_hash=digest_of_guid(f"guid-{number}"),
        file_hash=digest_of_file(file(number)),
    )
    return replace(one, **fields)


def play(
    number: int, position: int = 900, total: int | None = 3_600, revision: int = 1, **sent: object
) -> EpisodeAction:
    action = SentAction(PODCAST, file(number), "phone", "play", 1, 0, position, total)
    return replace(judge(replace(action, **sent)), revision=Stamp(revision))


GUID = play(1).podcast_guid
FIRST, SECOND = episode(1), episode(2)


FOUND = [
    {},
    {"episode_guid": "guid-1"},
    {"episode_guid": "guid-1", "episode": "https://elsewhere.example/1"},
    {"episode_guid": "GUID-1"},  # of the same file
    {"episode": f" {file(1)} "},
]
OTHERS = [
    {"episode": "guid-1"},  # a guid is no URL
    {"episode_guid": "guid-3", "episode": file(3)},
    {"podcast": "https://other.example/feed"},
]


@pytest.mark.parametrize("sent", [*FOUND, *OTHERS])
def test_playing_finds_the_episode_of_an_action_by_guid_or_file(sent):
    found = playing(GUID, [FIRST, SECOND], [play(1, **sent)])
    assert found == ({FIRST: Playing(900, 3_600)} if sent in FOUND else {})


def test_playing_takes_the_newest_play_and_the_length_that_the_feed_tells():
    plays = [play(1, 5, revision=3), play(1, 9, revision=2), play(2, 7, None)]
    known = replace(SECOND, duration_seconds=60)
    assert playing(GUID, [FIRST, known], plays) == {FIRST: Playing(5, 3_600), known: Playing(7, 60)}
    assert playing(GUID, [SECOND], plays) == {SECOND: Playing(7)}
    # A play of the episode's guid counts before one of its file.
    plays = [play(1, 3, episode_guid="guid-1"), play(1, 4, episode_guid="other", revision=9)]
    assert playing(GUID, [FIRST], plays) == {FIRST: Playing(3, 3_600)}


def test_episode_without_guid_and_file_is_found_by_nothing():
    bare = Episode("Bare")
    assert rules.keys_of(GUID, bare) == []
    assert playing(GUID, [bare], [play(1)]) == {}
    assert named([bare], "", None) is None


FINISHED = [(60, 60), (61, 60), (3_570, 3_600), (1, 30)]


@pytest.mark.parametrize("times", [*FINISHED, (3_569, 3_600), (9, None), (None, 9)])
def test_episode_is_finished_where_antennapod_marks_it_as_played(times):
    assert rules.is_finished(*times) is (times in FINISHED)
    if times[0] is not None:
        assert Playing(*times).is_finished is (times in FINISHED)


def test_episode_of_an_action_has_its_guid_or_else_its_file():
    both = [FIRST, replace(FIRST, guid_hash=digest_of_guid("again")), SECOND]
    assert named(both, file(1), None) == FIRST
    assert named(both, file(1), "again") == both[1]
    assert named(both, file(1), "guid-2") == SECOND
    assert named(both, file(2), "unknown") == SECOND
    assert named(both, file(3), "unknown") is None
    assert named(both, file(3), "") is None


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://a.example/b/Episode%20One.mp3?key=secret#t=5", "Episode One.mp3"),
        ("https://a.example/b/c/", "c"),
        ("https://a.example", "a.example"),
        ("https://a.example/%2F%2F", "//"),
        ("https://a.example/?key=secret", "a.example"),
        ("https://a.example/%20?key=secret", "https://a.example/%20"),
        ("https://user:secret@a.example/", "a.example"),
        ("https://us@er:secret@a.example/%20", "https://a.example/%20"),
        ("https://a.example/b@c.mp3", "b@c.mp3"),
        ("urn:episode:1?key=secret", "urn:episode:1"),
        ("?key=secret", "?"),
        ("urn:episode:1", "urn:episode:1"),
        ("https://", "https:"),
        ("https://a.example/" + "é" * 300, "é" * 199 + "…"),
    ],
)
def test_episode_is_called_as_its_file_without_secrets(url, name):
    assert rules.episode_name(url) == name
