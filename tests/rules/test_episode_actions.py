from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import (
    ActionDecision,
    ActionSnapshot,
    Alias,
    EpisodeAction,
    Guid,
    OwnUpload,
    Pointer,
    Second,
    Stamp,
    Subscription,
    SyncProgress,
    replace,
)
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import episode_actions
from feedkeep.rules.episode_actions import (
    MAX_SECONDS,
    MAX_STORED,
    RefusedUrl,
    SentAction,
    among,
    as_sent,
    finishing,
    grouped,
    in_order,
    judge,
    podcasts_joined,
    record,
    refiled,
    resent,
    spelled,
    spelled_for_apps,
    without_own,
)
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.store.portable.episode_actions import DecideActions

NOW = 1_700_000_000_000_000
NOW_SECOND = NOW // 1_000_000
HOUR = 3_600_000_000
PLAYED = SentAction(
    "https://a.example", "https://a.example/1.mp3", "phone", "play", 1_000, 0, 9, 60
)


def action(**changed: object) -> EpisodeAction:
    judged = judge(replace(PLAYED, **changed))
    assert isinstance(judged, EpisodeAction)
    return judged


def ahead(seconds: int, revision: int = 0, **changed: object) -> EpisodeAction:
    """Return an action of a device whose clock is ahead of the server's."""
    return replace(action(done=NOW_SECOND + seconds, **changed), revision=Stamp(revision))


class Stored:
    """The actions of an account."""

    def __init__(self) -> None:
        self.actions: dict[bytes, EpisodeAction] = {}
        self.last_stamp = 0

    def record(self, *sent: EpisodeAction, now: int = NOW) -> list[EpisodeAction]:
        return self.take(record, grouped(sent), now)

    def take(
        self, rule: DecideActions, sent: list[EpisodeAction], now: int = NOW
    ) -> list[EpisodeAction]:
        """Let a rule decide, as a store does; return what apps are told then."""
        known = {
            one.key: one for one in self.actions.values() if any(is_looked_up(one, a) for a in sent)
        }
        before = self.last_stamp
        decision = rule(ActionSnapshot(known, before, now), sent)
        self.actions |= {item.key: item for item in decision.saved}
        self.last_stamp = decision.last_stamp
        assert len({one.revision for one in self.actions.values()}) == len(self.actions)
        news = [one for one in decision.saved if one.revision > before]
        return sorted(news, key=lambda one: one.revision)

    def as_sent(self) -> list[tuple[str, int | None]]:
        """Return where an app that starts from nothing is sent to go: devices, and positions."""
        rows = sorted(self.actions.values(), key=lambda one: one.revision)
        return [(one.device, one.position) for one in as_sent(rows) if not one.is_superseded]


def is_looked_up(stored: EpisodeAction, sent: EpisodeAction) -> bool:
    """Whether a store looks an action up for another one, as in `ActionSnapshot.known`."""
    is_of_guid = sent.episode_guid is not None and stored.key[:10] == sent.key[:10]
    is_of_file = stored.file == sent.file and stored.kind in {"play", "delete"}
    is_current = not stored.is_superseded and (is_of_guid or is_of_file)
    return stored.key == sent.key or is_current


def test_an_action_is_stored_as_it_was_sent():
    stored = action(kind=" PLAY ", podcast=" https://a.example ")
    assert (stored.podcast, stored.kind, stored.device) == ("https://a.example", "play", "phone")
    assert (stored.done, stored.started, stored.position, stored.total) == (1_000, 0, 9, 60)


def test_an_action_names_its_app_which_a_repetition_by_another_app_keeps():
    stored = Stored()
    for sent in (PLAYED, replace(PLAYED, kind="download")):
        judged = judge(sent, "AntennaPod")
        assert isinstance(judged, EpisodeAction)
        assert [one.app for one in stored.record(judged)] == ["AntennaPod"]
        assert stored.record(replace(judged, app="Kasts")) == []
    assert [one.app for one in stored.actions.values()] == ["AntennaPod"] * 2
    assert refiled(judged, parse_feed_url("https://b.example")).app == "AntennaPod"


def test_an_episode_is_marked_as_finished_at_its_longest_known_length():
    stored = Stored()
    stored.record(action(device="desk", done=1, total=61, episode_guid="G"))
    stored.record(action(done=2, position=20, total=60, episode_guid="G"))
    stored.record(action(done=3, kind="download", device="tablet", episode_guid="G"))
    marked = finishing(list(stored.actions.values()))
    assert marked == SentAction(PLAYED.podcast, PLAYED.episode, "", "play", None, None, 61, 61, "G")
    judged = judge(marked)
    assert isinstance(judged, EpisodeAction)
    (told,) = stored.record(judged, now=NOW + HOUR)
    assert (told.position, told.total, told.done) == (61, 61, NOW_SECOND + 3_600)
    assert stored.record(judged, now=NOW + 2 * HOUR) == [], "once more is no news"


def test_a_mark_counts_although_the_clock_of_a_nameless_device_is_ahead():
    stored = Stored()
    stored.record(ahead(7_200, device=""))
    marked = finishing(list(stored.actions.values()))
    assert marked is not None
    judged = judge(marked)
    assert isinstance(judged, EpisodeAction)
    assert [one.position for one in stored.record(judged, now=NOW + 1)] == [60]


def test_an_episode_of_unknown_length_cannot_be_marked_as_finished():
    assert finishing([]) is None
    assert finishing([action(total=None), action(kind="download")]) is None


def test_only_playing_has_positions():
    stored = action(kind="download")
    assert (stored.started, stored.position, stored.total) == (None, None, None)


@pytest.mark.parametrize("total", [2**60, MAX_SECONDS + 1, 0, -1])
def test_numbers_that_make_no_sense_are_dropped(total):
    stored = action(started=-1, position=9, total=total)
    assert (stored.started, stored.position, stored.total) == (None, 9, None)


def test_numbers_are_kept_and_sent_up_to_what_antennapod_can_hold():
    assert MAX_SECONDS * 1_000 < 2**31 < (MAX_SECONDS + 1) * 1_000
    most = {"started": MAX_SECONDS, "position": MAX_SECONDS, "total": MAX_SECONDS}
    stored = replace(action(**most), received=Stamp(NOW))
    assert as_sent([stored]) == [stored]
    for name in most:
        assert as_sent([replace(stored, **{name: MAX_SECONDS + 1})]) == []


@pytest.mark.parametrize("position", [None, 0, -1, MAX_SECONDS + 1, 2**60])
def test_a_play_that_does_not_say_how_far_is_ignored(position):
    """gPodder sends one as soon as playback starts, and AntennaPod one with -1 in all numbers."""
    assert judge(replace(PLAYED, position=position)) is None
    broken = replace(PLAYED, position=position, podcast="no url")
    assert judge(broken) == RefusedUrl("no url"), "what is no URL is reported all the same"
    assert action(kind="download", position=position).position is None


def test_a_play_is_told_with_its_start_and_only_if_its_length_is_known():
    """AntennaPod would go back to the start of the episode."""
    received = Stamp(NOW)
    whole = replace(action(started=None), received=received)
    unknown = replace(action(total=None), received=received)
    before = replace(whole, position=None), replace(whole, position=0), replace(whole, total=0)
    others = [
        replace(action(kind=kind), received=received)
        for kind in ("download", "delete", "new", "flattr")
    ]
    assert as_sent([whole, unknown, *before, *others]) == [replace(whole, started=0), *others]
    assert as_sent([replace(whole, started=5)]) == [replace(whole, started=5)]


def test_a_length_stays_known_when_a_play_comes_without_one():
    stored = Stored()
    stored.record(action(total=60))
    without = action(done=1_001, position=20, total=None)
    assert [(one.position, one.total) for one in stored.record(without)] == [(20, 60)]
    assert stored.record(without) == [], "it was sent before"
    stored.record(action(device="tablet", total=70, done=1_001))
    longest = stored.record(replace(without, done=1_002))
    assert [one.total for one in longest] == [70]
    shorter = stored.record(action(done=1_003, total=50))
    assert [one.total for one in shorter] == [50], "what was sent is told"


def test_the_feeds_guid_of_an_episode_is_stored_if_it_can_be():
    assert action(episode_guid="https://a.example/?p=1").episode_guid == "https://a.example/?p=1"
    assert action(episode_guid="").episode_guid is None
    assert action(episode_guid="x\0").episode_guid is None
    assert action(episode_guid="x" * 2_000).episode_guid is None


def test_without_a_time_it_was_done_when_it_came():
    (stored,) = Stored().record(action(done=None))
    assert stored.done == NOW // 1_000_000


def test_a_url_that_is_not_valid_is_reported():
    assert judge(replace(PLAYED, podcast="antennapod_local:1")) == RefusedUrl("antennapod_local:1")
    for broken in ("", "a\nb", "x\0", "y" * 9_000):
        assert judge(replace(PLAYED, episode=broken)) == RefusedUrl(broken)


def test_an_episode_whose_url_has_spaces_is_stored_as_its_feed_has_it():
    url = "https://a.example/My Episode 1.mp3"
    assert action(episode=f" {url} ").episode == url


def test_an_unknown_kind_of_action_is_ignored():
    assert judge(replace(PLAYED, kind="")) is None
    assert judge(replace(PLAYED, kind="pause")) is None


def test_podcast_episode_device_and_kind_tell_actions_apart_and_spelling_does_not():
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


def test_a_resend_changes_nothing():
    stored = Stored()
    stored.record(action(), action(kind="download"))
    before = dict(stored.actions), stored.last_stamp
    assert stored.record(action(kind="download"), action(), now=NOW + 5_000_000) == []
    assert (stored.actions, stored.last_stamp) == before


def test_a_resend_without_a_time_changes_nothing():
    stored = Stored()
    stored.record(action(done=None))
    assert stored.record(action(done=None), now=NOW + 5_000_000) == []
    assert stored.record(action(done=None, position=10), now=NOW + 5_000_000) != []


def test_an_older_action_that_comes_late_does_not_replace_a_newer_one():
    stored = Stored()
    stored.record(action(done=1_000, position=50))
    assert stored.record(action(done=999, position=10)) == []
    assert stored.record(action(done=1_001, position=10)) != []


def test_actions_count_again_once_a_clock_that_was_ahead_is_right():
    stored = Stored()
    stored.record(ahead(86_400, position=50))
    assert stored.record(ahead(0, position=40)) == [], "it was done before that one came"
    assert stored.record(ahead(-60, position=40), now=NOW + HOUR) == []
    assert stored.record(ahead(7_200, position=40), now=NOW + HOUR) == [], "it is ahead, too"
    later = stored.record(ahead(60, position=60), now=NOW + HOUR)
    assert [item.position for item in later] == [60]


def test_a_clock_that_is_ahead_wins_nothing():
    """Others are told the time of receipt, which new stamps do not move."""
    stored = Stored()
    (first,) = stored.record(ahead(86_400, device="tablet"))
    assert [item.done for item in as_sent([first])] == [NOW_SECOND]
    (second,) = stored.record(ahead(5, position=10), now=NOW + 10_000_000)
    assert stored.as_sent() == [("phone", 10)]
    for now in (NOW + HOUR, NOW + 2 * HOUR):
        (anew,) = stored.take(resent, [first, second], now)
        assert [item.done for item in as_sent([anew])] == [NOW_SECOND + 5]
        assert anew.revision >= now


def test_a_server_whose_clock_is_behind_its_own_stamps_makes_nothing_older():
    stored = Stored()
    stored.last_stamp = NOW
    (first,) = stored.record(ahead(-1), now=NOW - HOUR)
    assert [item.done for item in as_sent([first])] == [NOW_SECOND - 1]


@pytest.mark.parametrize("later", [0, HOUR, 2 * 86_400_000_000])
@pytest.mark.parametrize("seconds", [-60, 86_400])
def test_an_upload_that_is_repeated_later_is_no_news(later, seconds):
    stored = Stored()
    upload = [ahead(seconds + number, position=1 + number) for number in range(3)]
    assert [item.position for item in stored.record(*upload)] == [3]
    before = dict(stored.actions), stored.last_stamp
    assert stored.record(*upload, now=NOW + later) == []
    assert (stored.actions, stored.last_stamp) == before
    further = ahead(100_000, position=9)
    assert [item.position for item in stored.record(*upload, further, now=NOW + later)] == [9]


@given(st.lists(st.tuples(st.integers(-90_000, 90_000), st.integers(1, 3)), max_size=5),
       st.integers(0, 200_000_000_000))  # fmt: skip
def test_no_upload_of_a_device_is_news_twice(played, later):
    stored = Stored()
    upload = [
        ahead(seconds, episode=f"https://a.example/{episode}")
        for seconds, episode in sorted(played)
    ]
    stored.record(*upload)
    assert stored.record(*upload, now=NOW + later) == []


def test_of_what_was_uploaded_together_the_last_one_done_has_the_last_stamp():
    """Told the same time, apps take the last one that they are told."""
    stored = Stored()
    sent = [ahead(900, device="a"), ahead(700, device="b", position=8), action(done=None)]
    sent.append(ahead(800, position=7))
    news = stored.record(*sent[:2], sent[3])
    assert [item.device for item in news] == ["b", "phone", "a"]
    assert len({item.done for item in as_sent(news)}) == 1
    assert stored.as_sent() == [("a", 9)]
    assert grouped(sent) == [sent[1], sent[0], sent[2], sent[3]], "what has one key is together"


def test_two_guids_with_one_url_are_two_episodes():
    stored = Stored()
    stored.record(*(action(episode_guid=guid, position=9) for guid in "AB"), action(position=5))
    assert {(item.episode_guid, item.position) for item in stored.actions.values()} == {
        ("A", 9),
        ("B", 9),
        (None, 5),
    }
    assert len({item.key for item in stored.actions.values()}) == 3


def test_a_guid_whose_url_changes_is_one_episode_with_its_last_url():
    old, new = ("https://a.example/1.mp3?updated=1", "https://a.example/1.mp3?updated=2")
    stored = Stored()
    stored.record(action(episode=old, episode_guid="G", device="tablet", kind="download"))
    stored.record(action(episode=old, episode_guid="G", done=2_000, position=10))
    news = stored.record(action(episode=new, episode_guid="G", done=3_000, position=30))
    assert [(item.device, item.position) for item in news] == [("phone", 30)]
    everything = [(item.device, item.episode, item.position) for item in stored.actions.values()]
    assert sorted(everything) == [("phone", new, 30), ("tablet", new, None)]
    assert len({item.file for item in stored.actions.values()}) == 1
    assert stored.record(action(episode=new, episode_guid="G", done=3_000, position=30)) == []
    late = action(episode=old, episode_guid="G", done=1_500, device="laptop")
    assert [(one.episode, one.is_superseded) for one in stored.record(late)] == [(new, True)]
    assert stored.record(late) == [], "it was sent before"


@pytest.mark.parametrize(
    ("guids", "is_first"),
    [
        ((None, None), True),
        ((None, None), False),
        (("G", "G"), True),
        (("G", "G"), False),
        ((None, "G"), True),
    ],
)
def test_a_play_without_a_length_is_told_as_soon_as_another_app_sends_it(guids, is_first):
    unknown = action(device="desk", total=None, position=20, done=1_001, episode_guid=guids[0])
    lengths = [action(device=f"{total}", total=total, episode_guid=guids[1]) for total in (50, 60)]
    stored = Stored()
    told_of = as_sent(stored.record(unknown)) if is_first else []
    assert told_of == []
    told_of += as_sent(stored.record(*lengths))
    if not is_first:
        told_of += as_sent(stored.record(unknown))
    assert [(one.position, one.total) for one in told_of if one.device == "desk"] == [(20, 60)]
    assert stored.as_sent() == [("desk", 20)]
    before = dict(stored.actions)
    assert stored.record(unknown, *lengths) == []
    assert stored.actions == before
    other = action(device="desk", episode="https://a.example/2.mp3", total=None)
    assert stored.record(other) != []
    assert as_sent([stored.actions[other.key]]) == []


LATE = {"device": "tablet", "position": 5, "done": 900}


@pytest.mark.parametrize("guids", [(None, None), ("G", "G"), (None, "G"), ("G", None)])
def test_an_older_play_that_comes_late_is_stored_and_sent_to_no_app(guids):
    """AntennaPod and Kasts would go back."""
    stored = Stored()
    newest = action(episode_guid=guids[0])
    stored.record(newest)
    before = stored.actions[newest.key]
    (late,) = stored.record(action(**LATE, episode_guid=guids[1]))
    assert (late.is_superseded, stored.actions[late.key]) == (True, late)
    assert stored.as_sent() == [("phone", 9)]
    assert stored.actions[newest.key] == before, "apps have it, and need no new stamp"
    assert stored.record(action(**LATE, episode_guid=guids[1])) == [], "it was sent before"


@pytest.mark.parametrize("guids", [(None, None), ("G", "G"), (None, "G"), ("G", None)])
def test_a_newer_play_takes_the_place_of_those_of_other_devices(guids):
    stored = Stored()
    stored.record(action(episode_guid=guids[0]))
    stored.record(action(device="tablet", position=30, done=1_001, episode_guid=guids[1]))
    assert stored.as_sent() == [("tablet", 30)]
    stored.record(action(position=40, done=1_002, episode_guid=guids[0]))
    assert stored.as_sent() == [("phone", 40)]
    assert len(stored.actions) == 2


def test_a_play_by_its_file_alone_is_of_no_episode_where_two_have_that_file():
    stored = Stored()
    stored.record(*(action(episode_guid=guid, device=guid) for guid in "AB"))
    stored.record(action(position=30, done=1_001))
    assert sorted(stored.as_sent()) == [("A", 9), ("B", 9), ("phone", 30)]


def test_of_two_episodes_that_turn_out_to_be_one_the_newest_play_is_sent_again():
    """Apps have the other one, too, and were sent it last."""
    other = "https://a.example/2.mp3"
    stored = Stored()
    stored.record(action(position=50, done=2_000))
    stored.record(action(device="desk", position=7, episode=other, episode_guid="G"))
    assert sorted(stored.as_sent()) == [("desk", 7), ("phone", 50)]
    late = action(device="tablet", position=8, done=1_500, episode_guid="G")
    news = [one for one in stored.record(late) if not one.is_superseded]
    assert [(one.device, one.position) for one in news] == [("phone", 50)]
    assert stored.as_sent() == [("phone", 50)]


@pytest.mark.parametrize(("done", "is_sent"), [(999, False), (1_000, True), (1_001, True)])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_deletion_before_the_newest_play_is_sent_to_no_app(done, is_sent, is_first):
    """Kasts marks the episode as played."""
    stored = Stored()
    sent = [action(kind="delete", device="tablet", done=done), action(done=1_000)]
    for one in sent if is_first else reversed(sent):
        stored.record(one)
    assert (("tablet", None) in stored.as_sent()) is is_sent
    assert ("phone", 9) in stored.as_sent()


@pytest.mark.parametrize("changed", [{}, {"total": None}, {"done": NOW_SECOND + HOUR}])
def test_a_play_that_is_equal_to_the_newest_one_changes_nothing(changed):
    """Cardo uploads what it was sent, west of UTC dated hours ahead."""
    stored = Stored()
    stored.record(action())
    before = dict(stored.actions), stored.last_stamp
    assert stored.record(action(**{"device": "cardo", "done": 5_000, **changed})) == []
    assert (stored.actions, stored.last_stamp) == before
    assert stored.record(action(device="cardo", done=5_000, total=61)) != []
    assert stored.record(action(device="desk", done=5_001, position=10)) != []


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["phone", "desk", "tablet"]),
            st.sampled_from([None, "G"]),
            st.integers(1, 60),
            st.integers(1, 60),
        ),
        max_size=12,
    )
)
def test_apps_are_sent_the_newest_play_of_an_episode_in_whichever_order_they_come(plays):
    stored = Stored()
    newest = 0
    for device, guid, done, number in plays:
        position = 100 * number + done  # no two are an echo of each other
        stored.record(action(device=device, episode_guid=guid, done=done, position=position))
        newest = max(newest, done)
        sent = [one.done for one in stored.actions.values() if not one.is_superseded]
        assert sent == [newest]


OTHER = "https://b.example"


def join(stored: Stored, *former: EpisodeAction) -> list[EpisodeAction]:
    """Let the podcast of stored actions become another one; return what apps are sent then."""
    podcast = parse_feed_url(PLAYED.podcast)
    moved = {refiled(one, podcast).key: one for one in former}
    removed: list[EpisodeAction] = []

    def decide(snapshot: ActionSnapshot, sent: Sequence[EpisodeAction]) -> ActionDecision:
        decision = episode_actions.join(snapshot, sent, moved)
        removed.extend(decision.removed)
        return decision

    news = stored.take(decide, [refiled(one, podcast) for one in former])
    assert removed == list(former)
    for one in removed:
        del stored.actions[one.key]
    assert {one.podcast for one in stored.actions.values()} == {PLAYED.podcast}
    return [one for one in as_sent(news) if not one.is_superseded]


def stored_elsewhere(stored: Stored, **changed: object) -> EpisodeAction:
    one = action(podcast=OTHER, **changed)
    stored.record(one)
    return stored.actions[one.key]


@pytest.mark.parametrize(("done", "newest"), [(900, ("phone", 9)), (1_100, ("desk", 50))])
def test_of_two_podcasts_that_become_one_the_newest_play_is_sent_again(done, newest):
    stored = Stored()
    stored.record(action())
    former = stored_elsewhere(stored, device="desk", position=50, done=done)
    assert len(stored.as_sent()) == 2
    assert [(one.device, one.position) for one in join(stored, former)] == [newest]
    assert stored.as_sent() == [newest]


def test_of_two_podcasts_that_become_one_a_device_keeps_its_later_action():
    stored = Stored()
    stored.record(action(), action(kind="download", done=5))
    former = [
        stored_elsewhere(stored, position=50, done=900),
        stored_elsewhere(stored, kind="download", done=7),
    ]
    assert [(one.kind, one.done) for one in join(stored, *former)] == [
        ("download", 7),
        ("play", 1_000),
    ]
    assert len(stored.actions) == 2


def test_what_was_superseded_of_a_podcast_that_becomes_another_stays_so():
    stored = Stored()
    former = stored_elsewhere(stored)
    stored.record(action(podcast=OTHER, **LATE))
    late = action(podcast=OTHER, **LATE)
    join(stored, former, stored.actions[late.key])
    assert stored.as_sent() == [("phone", 9)]
    assert len(stored.actions) == 2


def guid(url: str) -> Guid:
    return parse_feed_url(url).guid


def test_a_change_joins_the_podcasts_whose_urls_it_leads_to_another_feed():
    a, b, moved = PLAYED.podcast, OTHER, "https://moved.example"
    feed = Subscription(guid(a), a, True, Stamp(1))
    to_a = Pointer(guid(b), guid(a), alias=Alias(b, moved_away=False, was_own=True))
    joined = {guid(b): parse_feed_url(a)}
    assert podcasts_joined({guid(a): feed}, [to_a]) == joined, "a merge"
    assert podcasts_joined({guid(a): feed, guid(b): to_a}, [to_a]) == {}, "nothing new of it"
    renamed = replace(feed, guid=Guid("00000000-0000-4000-8000-000000000001"))
    pointer = Pointer(guid(a), renamed.guid, Stamp(2))
    assert podcasts_joined({guid(a): feed}, [renamed, pointer]) == {}, "its URL is the same"
    elsewhere = replace(renamed, feed_url=moved)
    left = replace(pointer, alias=Alias(a, moved_away=True))
    before = {renamed.guid: renamed, guid(a): pointer}
    assert podcasts_joined(before, [elsewhere, left]) == {guid(a): parse_feed_url(moved)}, "a move"
    derived = replace(feed, feed_url=moved, alias=Alias(a, moved_away=True))
    new = Pointer(guid(moved), guid(a))
    assert podcasts_joined({guid(a): feed}, [derived, new]) == {guid(moved): parse_feed_url(a)}
    assert podcasts_joined({}, [feed, Pointer(guid(b), guid(moved))]) == {}, "it leads nowhere here"


def test_a_change_joins_the_podcasts_of_a_merged_feed_that_gets_another_guid_and_back():
    a, b, other = PLAYED.podcast, OTHER, Guid("00000000-0000-4000-8000-000000000001")
    merged = Subscription(guid(b), a, True, Stamp(1), alias=Alias(b, False, was_own=True))
    of_a = Pointer(guid(a), guid(b))
    renamed = replace(merged, guid=other, alias=None)
    to_renamed = [Pointer(guid(b), other, Stamp(2)), replace(of_a, new_guid=other)]
    before = {guid(b): merged, guid(a): of_a}
    assert podcasts_joined(before, [renamed, *to_renamed]) == {guid(b): parse_feed_url(a)}
    back = [merged, of_a, Pointer(other, guid(b), Stamp(3))]
    before = {other: renamed, **{pointer.guid: pointer for pointer in to_renamed}}
    assert podcasts_joined(before, back) == {guid(a): parse_feed_url(b)}


def test_the_last_of_several_in_a_batch_counts():
    stored = Stored()
    saved = stored.record(action(done=1, position=1), action(done=2, position=2))
    assert [item.position for item in saved] == [2]


@given(st.lists(st.integers(0, 5_000_000), min_size=1, max_size=30))
def test_stamps_rise_by_a_millisecond_at_least(jumps):
    stored, stamps = Stored(), []
    for number, jump in enumerate(jumps):
        sent = (action(episode=f"{number}"), action(episode=f"{number}b"))
        stamps += [item.revision for item in stored.record(*sent, now=NOW + jump)]
    assert all(later > earlier for earlier, later in pairwise(stamps))


def test_only_the_actions_of_some_revisions_are_chosen():
    actions = [replace(action(), revision=number) for number in (1, 2, 5, 9)]
    assert among(actions, [0, 2, 3, 9]) == [actions[1], actions[3]]
    assert among(actions, []) == []


def by_stamps(*played: tuple[int, str]) -> list[EpisodeAction]:
    return [replace(action(episode=episode), revision=Stamp(at)) for at, episode in played]


def test_what_an_app_sent_itself_is_not_sent_back():
    one, two = (f"https://a.example/{number}.mp3" for number in (1, 2))
    progress = SyncProgress(
        is_alone=True, own_uploads=[OwnUpload("", Second(0), Stamp(10), Stamp(20))]
    )
    listed = by_stamps((5, one), (11, one), (12, two), (21, two))
    assert without_own(listed, progress, Second(1)) == [listed[0], listed[3]]


def test_actions_have_the_present_url_of_their_podcast():
    known, unknown = action(), action(podcast="https://b.example")
    feed_urls = {known.podcast_guid: "https://moved.example"}
    assert [item.podcast for item in spelled([known, unknown], feed_urls)] == [
        "https://moved.example",
        "https://b.example",
    ]


# C3.18
def test_spelled_for_apps_omits_podcasts_with_impossible_hosts():
    known, impossible = action(), action(podcast="https://b..example")
    sent = [known, impossible]
    assert [item.podcast for item in spelled_for_apps(sent, {})] == [known.podcast]
    urls = {known.podcast_guid: "https://a..example", impossible.podcast_guid: "https://b.example"}
    assert [item.podcast for item in spelled_for_apps(sent, urls)] == ["https://b.example"]


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(1, 4))
def test_pages_are_gone_through_in_one_order_without_leaving_anything_out(podcasts, limit):
    stored = [replace(action(), revision=Stamp(number)) for number in range(len(podcasts))]

    def page(podcast, first):
        return [item for item in stored[first:] if podcasts[item.revision] == podcast][:limit]

    seen: list[Stamp] = []
    while listed := in_order([page(podcast, len(seen)) for podcast in range(4)], limit):
        seen += [item.revision for item in listed]
    assert seen == list(range(len(podcasts)))


def test_what_an_account_has_no_room_for_is_refused_and_changes_have_always_room():
    first, second = action(), action(episode="https://a.example/2.mp3")
    stored = replace(first, revision=5, received=5)
    snapshot = ActionSnapshot({first.key: stored}, 5, NOW)
    further = replace(first, position=20, done=1_001)
    full, nearly = (replace(snapshot, count=MAX_STORED - left) for left in (0, 1))
    assert len(record(full, [further]).saved) == 1
    assert len(record(nearly, [further, second]).saved) == 2
    with pytest.raises(InvalidInput, match="no room for all of these"):
        record(full, [further, second])


def test_an_action_counts_once_for_each_kib_that_it_begins():
    def of(size, done):
        made = action(episode=f"https://a.example/{'x' * size}", episode_guid="g", done=done)
        return replace(made, position=done)

    stored = replace(of(2_600, 10), revision=5, received=5)  # 4 KiB
    known = ActionSnapshot({stored.key: stored}, 5, NOW, MAX_STORED - 1)
    assert record(known, [of(100, 20)]).added == -3
    assert record(known, [of(2_700, 20)]).added == 0
    assert record(known, [of(3_600, 20)]).added == 1
    with pytest.raises(InvalidInput, match="no room for all of these"):
        record(known, [of(4_600, 20)])
    for longer in (2_600, 100):  # what is too long already can become shorter
        assert record(replace(known, count=MAX_STORED + 9), [of(longer, 20)]).added <= 0
