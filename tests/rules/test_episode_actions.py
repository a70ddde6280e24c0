from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.errors import InvalidInput
from feedkeep.model import (
    ActionSnapshot,
    EpisodeAction,
    OwnUpload,
    Second,
    Stamp,
    SyncProgress,
    replace,
)
from feedkeep.rules import episode_actions
from feedkeep.rules.episode_actions import (
    RefusedUrl,
    SentAction,
    WithoutOwn,
    among,
    in_order,
    judge,
    record,
    spelled,
    told,
)

NOW = 1_700_000_000_000_000
PLAYED = SentAction(
    "https://a.example", "https://a.example/1.mp3", "phone", "play", 1_000, 0, 9, 60
)


def action(**changed: object) -> EpisodeAction:
    judged = judge(replace(PLAYED, **changed))
    assert isinstance(judged, EpisodeAction)
    return judged


class Stored:
    """The actions of an account."""

    def __init__(self) -> None:
        self.actions: dict[bytes, EpisodeAction] = {}
        self.last_stamp = 0

    def record(self, *sent: EpisodeAction, now: int = NOW) -> list[EpisodeAction]:
        decision = record(ActionSnapshot(dict(self.actions), self.last_stamp, now), sent)
        self.actions |= {item.key: item for item in decision.saved}
        self.last_stamp = decision.last_stamp
        return list(decision.saved)


def test_an_action_is_stored_as_it_was_sent() -> None:
    stored = action(kind=" PLAY ", podcast=" https://a.example ")
    assert (stored.podcast, stored.kind, stored.device) == ("https://a.example", "play", "phone")
    assert (stored.done, stored.started, stored.position, stored.total) == (1_000, 0, 9, 60)


def test_only_playing_has_positions() -> None:
    stored = action(kind="download")
    assert (stored.started, stored.position, stored.total) == (None, None, None)


@pytest.mark.parametrize("total", [2**60, 0, -1])
def test_numbers_that_make_no_sense_are_dropped(total: int) -> None:
    stored = action(started=-1, position=9, total=total)
    assert (stored.started, stored.position, stored.total) == (None, 9, None)


@pytest.mark.parametrize("position", [None, 0, -1, 2**60])
def test_a_play_that_does_not_say_how_far_is_ignored(position: int | None) -> None:
    """gPodder sends one as soon as playback starts, and AntennaPod one with -1 in all numbers."""
    assert judge(replace(PLAYED, position=position)) is None
    broken = replace(PLAYED, position=position, podcast="no url")
    assert judge(broken) == RefusedUrl("no url"), "what is no URL is reported all the same"
    assert action(kind="download", position=position).position is None


def test_a_play_is_told_with_its_start_and_only_if_its_length_is_known() -> None:
    """AntennaPod would go back to the start of the episode."""
    whole, unknown = action(started=None), action(total=None)
    before = replace(whole, position=None), replace(whole, position=0), replace(whole, total=0)
    others = [action(kind=kind) for kind in ("download", "delete", "new", "flattr")]
    assert told([whole, unknown, *before, *others]) == [replace(whole, started=0), *others]
    assert told([action(started=5)]) == [action(started=5)]


def test_a_length_stays_known_when_a_play_comes_without_one() -> None:
    stored = Stored()
    stored.record(action(total=60))
    without = action(done=1_001, position=20, total=None)
    assert [(one.position, one.total) for one in stored.record(without)] == [(20, 60)]
    assert stored.record(without) == [], "it was sent before"


def test_the_feeds_guid_of_an_episode_is_stored_if_it_can_be() -> None:
    assert action(episode_guid="https://a.example/?p=1").episode_guid == "https://a.example/?p=1"
    assert action(episode_guid="").episode_guid is None
    assert action(episode_guid="x\0").episode_guid is None
    assert action(episode_guid="x" * 2_000).episode_guid is None


def test_without_a_time_it_was_done_when_it_came() -> None:
    (stored,) = Stored().record(action(done=None))
    assert stored.done == NOW // 1_000_000


def test_a_url_that_is_not_valid_is_reported() -> None:
    assert judge(replace(PLAYED, podcast="antennapod_local:1")) == RefusedUrl("antennapod_local:1")
    for broken in ("", "a b", "x\0", "y" * 9_000):
        assert judge(replace(PLAYED, episode=broken)) == RefusedUrl(broken)


def test_an_unknown_kind_of_action_is_ignored() -> None:
    assert judge(replace(PLAYED, kind="")) is None
    assert judge(replace(PLAYED, kind="pause")) is None


def test_podcast_episode_device_and_kind_tell_actions_apart_and_spelling_does_not() -> None:
    keys = {
        action(**changed).key
        for changed in (
            {},
            {"podcast": "https://b.example"},
            {"episode": "https://a.example/2.mp3"},
            {"device": "tablet"},
            {"kind": "delete"},
        )
    }
    assert len(keys) == 5
    assert action(podcast="http://A.example/").key == action().key


def test_a_resend_changes_nothing() -> None:
    stored = Stored()
    stored.record(action(), action(kind="download"))
    before = dict(stored.actions), stored.last_stamp
    assert stored.record(action(kind="download"), action(), now=NOW + 5_000_000) == []
    assert (stored.actions, stored.last_stamp) == before


def test_a_resend_without_a_time_changes_nothing() -> None:
    stored = Stored()
    stored.record(action(done=None))
    assert stored.record(action(done=None), now=NOW + 5_000_000) == []
    assert stored.record(action(done=None, position=10), now=NOW + 5_000_000) != []


def test_an_older_action_that_comes_late_does_not_replace_a_newer_one() -> None:
    stored = Stored()
    stored.record(action(done=1_000, position=50))
    assert stored.record(action(done=999, position=10)) == []
    assert stored.record(action(done=1_001, position=10)) != []


def test_actions_count_again_once_a_clock_that_was_ahead_is_right() -> None:
    stored = Stored()
    stored.record(action(done=NOW // 1_000_000 + 86_400, position=50))
    assert [item.position for item in stored.record(action(done=2_000, position=60))] == [60]


def test_the_last_of_several_in_a_batch_counts() -> None:
    stored = Stored()
    saved = stored.record(action(done=1, position=1), action(done=2, position=2))
    assert [item.position for item in saved] == [2]


@given(st.lists(st.integers(0, 5_000_000), min_size=1, max_size=30))
def test_stamps_rise_by_a_millisecond_at_least(jumps: list[int]) -> None:
    stored, stamps = Stored(), []
    for number, jump in enumerate(jumps):
        sent = (action(episode=f"{number}"), action(episode=f"{number}b"))
        stamps += [item.revision for item in stored.record(*sent, now=NOW + jump)]
    assert all(later > earlier for earlier, later in pairwise(stamps))


def test_only_the_actions_of_some_revisions_are_chosen() -> None:
    actions = [replace(action(), revision=number) for number in (1, 2, 5, 9)]
    assert among(actions, [0, 2, 3, 9]) == [actions[1], actions[3]]
    assert among(actions, []) == []


def by_stamps(*played: tuple[int, str]) -> list[EpisodeAction]:
    return [replace(action(episode=episode), revision=Stamp(at)) for at, episode in played]


def test_what_an_app_sent_is_sent_back_only_after_another_action_of_its_episode() -> None:
    one, two, three = (f"https://a.example/{number}.mp3" for number in (1, 2, 3))
    own = OwnUpload("", Second(0), Stamp(10), Stamp(20))
    without_own = WithoutOwn(SyncProgress(is_alone=True, own_uploads=[own]), Second(1))
    first = by_stamps((5, one), (11, one), (12, two))
    assert without_own(first) == first[:2], "the older one would be the last that it hears of"
    then = by_stamps((13, one), (14, three), (21, two))
    assert without_own(then) == [then[0], then[2]], "also on a later page"


def test_an_app_is_sent_its_own_actions_where_there_are_too_many_to_compare(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(episode_actions, "MAX_SENT_EPISODES", 1)
    own = OwnUpload("", Second(0), Stamp(10), Stamp(20))
    without_own = WithoutOwn(SyncProgress(is_alone=True, own_uploads=[own]), Second(1))
    listed = by_stamps((5, "https://a.example/1.mp3"), (11, "https://a.example/2.mp3"))
    assert without_own(listed) == listed


def test_actions_have_the_present_url_of_their_podcast() -> None:
    known, unknown = action(), action(podcast="https://b.example")
    feed_urls = {known.podcast_guid: "https://moved.example"}
    assert [item.podcast for item in spelled([known, unknown], feed_urls)] == [
        "https://moved.example",
        "https://b.example",
    ]


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(1, 4))
def test_pages_are_gone_through_in_one_order_without_leaving_anything_out(
    podcasts: list[int], limit: int
) -> None:
    stored = [replace(action(), revision=Stamp(number)) for number in range(len(podcasts))]

    def page(podcast: int, first: int) -> list[EpisodeAction]:
        return [item for item in stored[first:] if podcasts[item.revision] == podcast][:limit]

    seen: list[Stamp] = []
    while listed := in_order([page(podcast, len(seen)) for podcast in range(4)], limit):
        seen += [item.revision for item in listed]
    assert seen == list(range(len(podcasts)))


def test_what_an_account_has_no_room_for_is_refused_and_changes_have_always_room() -> None:
    first, second = action(), action(episode="https://a.example/2.mp3")
    stored = replace(first, revision=5)
    snapshot = ActionSnapshot({first.key: stored}, 5, NOW)
    further = replace(first, position=20, done=1_001)
    assert len(record(snapshot, [further], room=0).saved) == 1
    assert len(record(snapshot, [further, second], room=1).saved) == 2
    for room, added in ((0, 0), (9, 9)):
        with pytest.raises(InvalidInput, match="no room for all of these"):
            record(replace(snapshot, added=added), [further, second], room=room)
