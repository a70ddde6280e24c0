"""Stored episode actions, their sync to apps, and their merging."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_account import G1, guid

from feedkeep import model
from feedkeep.model import ActionSnapshot, EpisodeAction, Pointer, Stamp, Subscription, replace
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import episode_actions as rules
from feedkeep.rules.episode_actions import SentAction, as_sent, judge, podcasts_joined, record
from feedkeep.rules.feed_urls import parse_feed_url

NOW = 1_700_000_000_000_000
NOW_SECOND = NOW // 1_000_000
HOUR = 3_600_000_000
PLAYED = SentAction(
    "https://a.example", "https://a.example/1.mp3", "phone", "play", 1_000, 0, 9, 60
)


ODD = [None, 0, -1, rules.MAX_SECONDS + 1, 2**60]
"""Numbers of seconds that say nothing."""


def action(**changed: object) -> EpisodeAction:
    judged = judge(replace(PLAYED, **changed))
    assert isinstance(judged, EpisodeAction)
    return judged


def received(**changed: object) -> EpisodeAction:
    return replace(action(**changed), received=Stamp(NOW))


def ahead(seconds: int, revision: int = 0, **changed: object) -> EpisodeAction:
    """Return an action of a device whose clock is ahead of the server's."""
    return replace(action(done=NOW_SECOND + seconds, **changed), revision=Stamp(revision))


class Stored:
    """The actions of an account."""

    def __init__(self) -> None:
        self.actions: dict[bytes, EpisodeAction] = {}
        self.last_stamp = 0

    def record(self, *sent: EpisodeAction, now: int = NOW) -> list[EpisodeAction]:
        return self.take(record, rules.grouped(sent), now)

    def take(self, rule, sent: list[EpisodeAction], now: int = NOW) -> list[EpisodeAction]:
        """Apply a rule, like a store; return the actions that apps are sent then."""
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
        """Return the devices and positions that an app is sent when it starts from nothing."""
        rows = sorted(self.actions.values(), key=lambda one: one.revision)
        return positions(one for one in as_sent(rows) if not one.is_superseded)


def positions(actions: Iterable[EpisodeAction]) -> list[tuple[str, int | None]]:
    return [(one.device, one.position) for one in actions]


@pytest.fixture
def stored():
    return Stored()


def is_looked_up(stored: EpisodeAction, sent: EpisodeAction) -> bool:
    """Whether a store looks an action up for another one, as in `ActionSnapshot.known`."""
    is_of_guid = sent.episode_guid is not None and stored.key[:10] == sent.key[:10]
    is_of_file = stored.file == sent.file and stored.kind in {"play", "delete"}
    is_current = not stored.is_superseded and (is_of_guid or is_of_file)
    return stored.key == sent.key or is_current


AS_PLAYED = {"podcast": "https://a.example", "kind": "play", "device": "phone", "done": 1_000}
NUMBERS = {"started": 0, "position": 9, "total": 60}
NO_NUMBERS = {"started": None, "position": None, "total": None}
PLAYED_TO_9 = {"started": None, "position": 9, "total": None}
LONG_GUID, SPACES = "x" * 2_000, "https://a.example/My Episode 1.mp3"


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"kind": " PLAY ", "podcast": " https://a.example "}, AS_PLAYED | NUMBERS),
        ({"kind": "download"}, NO_NUMBERS),
        *(({"kind": "download", "position": position}, NO_NUMBERS) for position in ODD),
        *(({"started": -1, "total": total}, PLAYED_TO_9) for total in ODD),
        ({"episode_guid": "https://a.example/?p=1"}, {"episode_guid": "https://a.example/?p=1"}),
        *(({"episode_guid": odd}, {"episode_guid": None}) for odd in ("", "x\0", LONG_GUID)),
        ({"episode": f" {SPACES} "}, {"episode": SPACES}),
    ],
)
def test_action_is_stored_as_it_was_sent_without_what_makes_no_sense(sent, stored):
    judged = action(**sent)
    assert {name: getattr(judged, name) for name in stored} == stored


@pytest.mark.parametrize(
    ("sent", "judged"),
    [
        *(({"position": position}, None) for position in ODD),
        *(({"position": odd, "podcast": "no url"}, rules.RefusedUrl("no url")) for odd in ODD),
        ({"podcast": "antennapod_local:1"}, rules.RefusedUrl("antennapod_local:1")),
        *(({"episode": odd}, rules.RefusedUrl(odd)) for odd in ("", "a\nb", "x\0", "y" * 9_000)),
        ({"kind": ""}, None),
        ({"kind": "pause"}, None),
    ],
)
def test_invalid_url_is_reported_and_what_is_no_play_or_no_action_ignored(sent, judged):
    """gPodder sends one as soon as playback starts, and AntennaPod one with -1 in all numbers."""
    assert judge(replace(PLAYED, **sent)) == judged


def test_action_names_its_app_which_a_repetition_by_another_app_keeps(stored):
    for sent in (PLAYED, replace(PLAYED, kind="download")):
        judged = judge(sent, "AntennaPod")
        assert [one.app for one in stored.record(judged)] == ["AntennaPod"]
        assert stored.record(replace(judged, app="Kasts")) == []
    assert [one.app for one in stored.actions.values()] == ["AntennaPod"] * 2
    assert rules.refiled(judged, parse_feed_url("https://b.example")).app == "AntennaPod"


def test_episode_is_marked_as_finished_at_its_longest_known_length(stored):
    stored.record(action(device="desk", done=1, total=61, episode_guid="G"))
    stored.record(action(done=2, position=20, total=60, episode_guid="G"))
    stored.record(action(done=3, kind="download", device="tablet", episode_guid="G"))
    marked = rules.finishing(list(stored.actions.values()))
    assert marked == SentAction(PLAYED.podcast, PLAYED.episode, "", "play", None, None, 61, 61, "G")
    judged = judge(marked)
    (told,) = stored.record(judged, now=NOW + HOUR)
    assert (told.position, told.total, told.done) == (61, 61, NOW_SECOND + 3_600)
    assert stored.record(judged, now=NOW + 2 * HOUR) == [], "once more is no news"

    assert rules.finishing([]) is None
    assert rules.finishing([action(total=None), action(kind="download")]) is None


def test_mark_counts_although_the_clock_of_a_nameless_device_is_ahead(stored):
    stored.record(ahead(7_200, device=""))
    marked = judge(rules.finishing(list(stored.actions.values())))
    assert [one.position for one in stored.record(marked, now=NOW + 1)] == [60]


def test_numbers_are_kept_and_sent_up_to_what_antennapod_can_hold():
    most = rules.MAX_SECONDS
    assert most * 1_000 < 2**31 < (most + 1) * 1_000
    stored = received(started=most, position=most, total=most)
    assert as_sent([stored]) == [stored]
    for name in NUMBERS:
        assert as_sent([replace(stored, **{name: most + 1})]) == []


def test_play_is_sent_with_its_start_and_only_if_its_length_is_known():
    """AntennaPod would go back to the start of the episode."""
    whole, unknown = received(started=None), received(total=None)
    before = replace(whole, position=None), replace(whole, position=0), replace(whole, total=0)
    others = [received(kind=kind) for kind in ("download", "delete", "new", "flattr")]
    assert as_sent([whole, unknown, *before, *others]) == [replace(whole, started=0), *others]
    assert as_sent([replace(whole, started=5)]) == [replace(whole, started=5)]


def test_length_stays_known_when_a_play_comes_without_one(stored):
    stored.record(action(total=60))
    without = action(done=1_001, position=20, total=None)
    assert [(one.position, one.total) for one in stored.record(without)] == [(20, 60)]
    assert stored.record(without) == [], "it was sent before"
    stored.record(action(device="tablet", total=70, done=1_001))
    longest = stored.record(replace(without, done=1_002))
    assert [one.total for one in longest] == [70]
    shorter = stored.record(action(done=1_003, total=50))
    assert [one.total for one in shorter] == [50], "what was sent is told"


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


def test_resend_changes_nothing(stored):
    stored.record(action(), action(kind="download"))
    before = dict(stored.actions), stored.last_stamp
    assert stored.record(action(kind="download"), action(), now=NOW + 5_000_000) == []
    assert (stored.actions, stored.last_stamp) == before
    stored = Stored()
    assert [one.done for one in stored.record(action(done=None))] == [NOW_SECOND]
    assert stored.record(action(done=None), now=NOW + 5_000_000) == []
    assert stored.record(action(done=None, position=10), now=NOW + 5_000_000) != []


def test_older_action_that_comes_late_does_not_replace_a_newer_one(stored):
    stored.record(action(done=1_000, position=50))
    assert stored.record(action(done=999, position=10)) == []
    assert stored.record(action(done=1_001, position=10)) != []
    batch = (action(done=2_001, position=1), action(done=2_002, position=2))
    assert positions(stored.record(*batch)) == [("phone", 2)], "the last one counts"


def test_actions_count_again_once_a_clock_that_was_ahead_is_right(stored):
    stored.record(ahead(86_400, position=50))
    assert stored.record(ahead(0, position=40)) == [], "it was done before that one came"
    assert stored.record(ahead(-60, position=40), now=NOW + HOUR) == []
    assert stored.record(ahead(7_200, position=40), now=NOW + HOUR) == [], "it is ahead, too"
    later = stored.record(ahead(60, position=60), now=NOW + HOUR)
    assert [item.position for item in later] == [60]


def test_clock_that_is_ahead_wins_nothing(stored):
    """Others are told the time of receipt, which new stamps do not move."""
    (first,) = stored.record(ahead(86_400, device="tablet"))
    assert [item.done for item in as_sent([first])] == [NOW_SECOND]
    (second,) = stored.record(ahead(5, position=10), now=NOW + 10_000_000)
    assert stored.as_sent() == [("phone", 10)]
    for now in (NOW + HOUR, NOW + 2 * HOUR):
        (anew,) = stored.take(rules.resent, [first, second], now)
        assert [item.done for item in as_sent([anew])] == [NOW_SECOND + 5]
        assert anew.revision >= now


def test_server_whose_clock_is_behind_its_own_stamps_makes_nothing_older(stored):
    stored.last_stamp = NOW
    (first,) = stored.record(ahead(-1), now=NOW - HOUR)
    assert [item.done for item in as_sent([first])] == [NOW_SECOND - 1]


@pytest.mark.parametrize("later", [0, HOUR, 2 * 86_400_000_000])
@pytest.mark.parametrize("seconds", [-60, 86_400])
def test_upload_that_is_repeated_later_is_no_news(stored, later, seconds):
    upload = [ahead(seconds + number, position=1 + number) for number in range(3)]
    assert positions(stored.record(*upload)) == [("phone", 3)]
    before = dict(stored.actions), stored.last_stamp
    assert stored.record(*upload, now=NOW + later) == []
    assert (stored.actions, stored.last_stamp) == before
    further = ahead(100_000, position=9)
    assert positions(stored.record(*upload, further, now=NOW + later)) == [("phone", 9)]


@given(st.lists(st.tuples(st.integers(-90_000, 90_000), st.integers(1, 3)), max_size=5),
       st.integers(0, 200_000_000_000))  # fmt: skip
def test_no_upload_of_a_device_is_news_twice(played, later):
    stored = Stored()
    upload = [ahead(at, episode=f"https://a.example/{number}") for at, number in sorted(played)]
    stored.record(*upload)
    assert stored.record(*upload, now=NOW + later) == []


def test_of_what_was_uploaded_together_the_last_one_done_has_the_last_stamp(stored):
    """Told the same time, apps take the last one that they are told."""
    sent = [ahead(900, device="a"), ahead(700, device="b", position=8), action(done=None)]
    sent.append(ahead(800, position=7))
    news = stored.record(*sent[:2], sent[3])
    assert [item.device for item in news] == ["b", "phone", "a"]
    assert len({item.done for item in as_sent(news)}) == 1
    assert stored.as_sent() == [("a", 9)]
    assert rules.grouped(sent) == [sent[1], sent[0], *sent[2:]], "one key is together"


def test_two_guids_with_one_url_are_two_episodes(stored):
    stored.record(*(action(episode_guid=guid, position=9) for guid in "AB"), action(position=5))
    found = {(item.episode_guid, item.position) for item in stored.actions.values()}
    assert found == {("A", 9), ("B", 9), (None, 5)}
    assert len(stored.actions) == 3


def test_guid_whose_url_changes_is_one_episode_with_its_last_url(stored):
    old, new = ("https://a.example/1.mp3?updated=1", "https://a.example/1.mp3?updated=2")
    stored.record(action(episode=old, episode_guid="G", device="tablet", kind="download"))
    stored.record(action(episode=old, episode_guid="G", done=2_000, position=10))
    again = action(episode=new, episode_guid="G", done=3_000, position=30)
    assert positions(stored.record(again)) == [("phone", 30)]
    everything = [(item.device, item.episode, item.position) for item in stored.actions.values()]
    assert sorted(everything) == [("phone", new, 30), ("tablet", new, None)]
    assert len({item.file for item in stored.actions.values()}) == 1
    assert stored.record(again) == []
    late = action(episode=old, episode_guid="G", done=1_500, device="laptop")
    assert [(one.episode, one.is_superseded) for one in stored.record(late)] == [(new, True)]
    assert stored.record(late) == [], "it was sent before"


NONE, BOTH = (None, None), ("G", "G")
GUIDS = [NONE, BOTH, (None, "G"), ("G", None)]
LATE = {"device": "tablet", "position": 5, "done": 900}


@pytest.mark.parametrize(
    ("guids", "is_first"),
    [(NONE, True), (NONE, False), (BOTH, True), (BOTH, False), ((None, "G"), True)],
)
def test_play_without_a_length_is_told_as_soon_as_another_app_sends_it(stored, guids, is_first):
    unknown = action(device="desk", total=None, position=20, done=1_001, episode_guid=guids[0])
    lengths = [action(device=f"{total}", total=total, episode_guid=guids[1]) for total in (50, 60)]
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


@pytest.mark.parametrize("guids", GUIDS)
def test_older_play_that_comes_late_is_stored_and_sent_to_no_app(stored, guids):
    """AntennaPod and Kasts would go back."""
    newest = action(episode_guid=guids[0])
    stored.record(newest)
    before = stored.actions[newest.key]
    (late,) = stored.record(action(**LATE, episode_guid=guids[1]))
    assert (late.is_superseded, stored.actions[late.key]) == (True, late)
    assert stored.as_sent() == [("phone", 9)]
    assert stored.actions[newest.key] == before, "apps have it, and need no new stamp"
    assert stored.record(action(**LATE, episode_guid=guids[1])) == [], "it was sent before"


@pytest.mark.parametrize("guids", GUIDS)
def test_newer_play_takes_the_place_of_those_of_other_devices(stored, guids):
    stored.record(action(episode_guid=guids[0]))
    stored.record(action(device="tablet", position=30, done=1_001, episode_guid=guids[1]))
    assert stored.as_sent() == [("tablet", 30)]
    stored.record(action(position=40, done=1_002, episode_guid=guids[0]))
    assert stored.as_sent() == [("phone", 40)]
    assert len(stored.actions) == 2


def test_play_by_its_file_alone_is_of_no_episode_where_two_have_that_file(stored):
    stored.record(*(action(episode_guid=guid, device=guid) for guid in "AB"))
    stored.record(action(position=30, done=1_001))
    assert sorted(stored.as_sent()) == [("A", 9), ("B", 9), ("phone", 30)]


def test_of_two_episodes_that_turn_out_to_be_one_the_newest_play_is_sent_again(stored):
    """Apps have the other one, too, and were sent it last."""
    other = "https://a.example/2.mp3"
    stored.record(action(position=50, done=2_000))
    stored.record(action(device="desk", position=7, episode=other, episode_guid="G"))
    assert sorted(stored.as_sent()) == [("desk", 7), ("phone", 50)]
    late = action(device="tablet", position=8, done=1_500, episode_guid="G")
    news = [one for one in stored.record(late) if not one.is_superseded]
    assert positions(news) == [("phone", 50)]
    assert stored.as_sent() == [("phone", 50)]


@pytest.mark.parametrize(("done", "is_sent"), [(999, False), (1_000, True), (1_001, True)])
@pytest.mark.parametrize("is_first", [True, False])
def test_deletion_before_the_newest_play_is_sent_to_no_app(stored, done, is_sent, is_first):
    """Kasts marks the episode as played."""
    sent = [action(kind="delete", device="tablet", done=done), action(done=1_000)]
    for one in sent if is_first else reversed(sent):
        stored.record(one)
    assert (("tablet", None) in stored.as_sent()) is is_sent
    assert ("phone", 9) in stored.as_sent()


@pytest.mark.parametrize("changed", [{}, {"total": None}, {"done": NOW_SECOND + HOUR}])
def test_play_that_is_equal_to_the_newest_one_changes_nothing(stored, changed):
    """Cardo uploads what it was sent, west of UTC dated hours ahead."""
    stored.record(action())
    before = dict(stored.actions), stored.last_stamp
    assert stored.record(action(**{"device": "cardo", "done": 5_000, **changed})) == []
    assert (stored.actions, stored.last_stamp) == before
    assert stored.record(action(device="cardo", done=5_000, total=61)) != []
    assert stored.record(action(device="desk", done=5_001, position=10)) != []


DEVICES, HOW_LATE = st.sampled_from(["phone", "desk", "tablet"]), st.integers(1, 60)


@given(st.lists(st.tuples(DEVICES, st.sampled_from([None, "G"]), HOW_LATE, HOW_LATE), max_size=12))
def test_apps_are_sent_the_newest_play_of_an_episode_in_whichever_order_they_come(plays):
    stored = Stored()
    newest = 0
    for device, own, done, number in plays:
        position = 100 * number + done  # no two are an echo of each other
        stored.record(action(device=device, episode_guid=own, done=done, position=position))
        newest = max(newest, done)
        sent = [one.done for one in stored.actions.values() if not one.is_superseded]
        assert sent == [newest]


OTHER, ODD_HOST = "https://b.example", "https://b..example"


def join(stored: Stored, *former: EpisodeAction) -> list[EpisodeAction]:
    """Merge the podcast of stored actions into another one; return the actions sent to apps."""
    joined = [rules.refiled(one, parse_feed_url(PLAYED.podcast)) for one in former]
    moved = {new.key: one for new, one in zip(joined, former, strict=True)}
    removed = []

    def decide(snapshot, sent):
        decision = rules.join(snapshot, sent, moved)
        removed.extend(decision.removed)
        return decision

    news = stored.take(decide, joined)
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
def test_of_two_podcasts_that_become_one_the_newest_play_is_sent_again(stored, done, newest):
    stored.record(action())
    former = stored_elsewhere(stored, device="desk", position=50, done=done)
    assert len(stored.as_sent()) == 2
    assert positions(join(stored, former)) == [newest]
    assert stored.as_sent() == [newest]


def test_of_two_podcasts_that_become_one_a_device_keeps_its_later_action(stored):
    stored.record(action(), action(kind="download", done=5))
    former = [
        stored_elsewhere(stored, position=50, done=900),
        stored_elsewhere(stored, kind="download", done=7),
    ]
    news = [(one.kind, one.done) for one in join(stored, *former)]
    assert news == [("download", 7), ("play", 1_000)]
    assert len(stored.actions) == 2


def test_what_was_superseded_of_a_podcast_that_becomes_another_stays_so(stored):
    former = stored_elsewhere(stored)
    stored.record(action(podcast=OTHER, **LATE))
    late = action(podcast=OTHER, **LATE)
    join(stored, former, stored.actions[late.key])
    assert stored.as_sent() == [("phone", 9)]
    assert len(stored.actions) == 2


def test_change_joins_the_podcasts_whose_urls_it_leads_to_another_feed():
    a, b, moved = PLAYED.podcast, OTHER, "https://moved.example"
    feed = Subscription(guid(a), a, True, Stamp(1))
    to_a = Pointer(guid(b), guid(a), alias=model.Alias(b, moved_away=False, was_own=True))
    joined = {guid(b): parse_feed_url(a)}
    assert podcasts_joined({guid(a): feed}, [to_a]) == joined, "a merge"
    assert podcasts_joined({guid(a): feed, guid(b): to_a}, [to_a]) == {}, "nothing new of it"
    renamed = replace(feed, guid=G1)
    pointer = Pointer(guid(a), renamed.guid, Stamp(2))
    assert podcasts_joined({guid(a): feed}, [renamed, pointer]) == {}, "its URL is the same"
    elsewhere = replace(renamed, feed_url=moved)
    left = replace(pointer, alias=model.Alias(a, moved_away=True))
    before = {renamed.guid: renamed, guid(a): pointer}
    assert podcasts_joined(before, [elsewhere, left]) == {guid(a): parse_feed_url(moved)}, "a move"
    derived = replace(feed, feed_url=moved, alias=model.Alias(a, moved_away=True))
    new = Pointer(guid(moved), guid(a))
    assert podcasts_joined({guid(a): feed}, [derived, new]) == {guid(moved): parse_feed_url(a)}
    assert podcasts_joined({}, [feed, Pointer(guid(b), guid(moved))]) == {}, "it leads nowhere here"


def test_change_joins_the_podcasts_of_a_merged_feed_that_gets_another_guid_and_back():
    a, b = PLAYED.podcast, OTHER
    merged = Subscription(guid(b), a, True, Stamp(1), alias=model.Alias(b, False, was_own=True))
    of_a = Pointer(guid(a), guid(b))
    renamed = replace(merged, guid=G1, alias=None)
    to_renamed = [Pointer(guid(b), G1, Stamp(2)), replace(of_a, new_guid=G1)]
    before = {guid(b): merged, guid(a): of_a}
    assert podcasts_joined(before, [renamed, *to_renamed]) == {guid(b): parse_feed_url(a)}
    back = [merged, of_a, Pointer(G1, guid(b), Stamp(3))]
    before = {G1: renamed, **{pointer.guid: pointer for pointer in to_renamed}}
    assert podcasts_joined(before, back) == {guid(a): parse_feed_url(b)}


@given(st.lists(st.integers(0, 5_000_000), min_size=1, max_size=30))
def test_stamps_rise_by_a_millisecond_at_least(jumps):
    stored, stamps = Stored(), []
    for number, jump in enumerate(jumps):
        sent = (action(episode=f"{number}"), action(episode=f"{number}b"))
        stamps += [item.revision for item in stored.record(*sent, now=NOW + jump)]
    assert all(later > earlier for earlier, later in pairwise(stamps))


def test_only_the_actions_of_some_revisions_are_chosen():
    actions = [replace(action(), revision=number) for number in (1, 2, 5, 9)]
    assert rules.among(actions, [0, 2, 3, 9]) == [actions[1], actions[3]]
    assert rules.among(actions, []) == []


def test_what_an_app_sent_itself_is_not_sent_back():
    one, two = (f"https://a.example/{number}.mp3" for number in (1, 2))
    progress = model.SyncProgress(is_alone=True, own_uploads=[model.OwnUpload("", 0, 10, 20)])
    played = ((5, one), (11, one), (12, two), (21, two))
    listed = [replace(action(episode=episode), revision=at) for at, episode in played]
    assert rules.without_own(listed, progress, 1) == [listed[0], listed[3]]


def podcasts(actions: Iterable[EpisodeAction]) -> list[str]:
    return [one.podcast for one in actions]


# C3.18
def test_actions_have_the_present_url_of_their_podcast_which_apps_are_sent_if_it_is_possible():
    known, unknown, impossible = (action(podcast=url) for url in (PLAYED.podcast, OTHER, ODD_HOST))
    feed_urls = {known.podcast_guid: "https://moved.example"}
    assert podcasts(rules.spelled([known, unknown], feed_urls)) == ["https://moved.example", OTHER]
    sent = [known, impossible]
    assert podcasts(rules.spelled_for_apps(sent, {})) == [known.podcast]
    feed_urls = {known.podcast_guid: ODD_HOST, impossible.podcast_guid: OTHER}
    assert podcasts(rules.spelled_for_apps(sent, feed_urls)) == [OTHER]


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(1, 4))
def test_pages_are_gone_through_in_one_order_without_leaving_anything_out(podcasts, limit):
    stored = [replace(action(), revision=Stamp(number)) for number in range(len(podcasts))]

    def page(podcast, first):
        return [item for item in stored[first:] if podcasts[item.revision] == podcast][:limit]

    seen: list[Stamp] = []
    while listed := rules.in_order([page(podcast, len(seen)) for podcast in range(4)], limit):
        seen += [item.revision for item in listed]
    assert seen == list(range(len(podcasts)))


def test_what_an_account_has_no_room_for_is_refused_and_changes_have_always_room():
    first, second = action(), action(episode="https://a.example/2.mp3")
    stored = replace(first, revision=5, received=5)
    snapshot = ActionSnapshot({first.key: stored}, 5, NOW)
    further = replace(first, position=20, done=1_001)
    full, nearly = (replace(snapshot, count=rules.MAX_STORED - left) for left in (0, 1))
    assert len(record(full, [further]).saved) == 1
    assert len(record(nearly, [further, second]).saved) == 2
    with pytest.raises(InvalidInput, match="no room for all of these"):
        record(full, [further, second])


def test_action_counts_once_for_each_kib_that_it_begins():
    def of(size, done):
        made = action(episode=f"https://a.example/{'x' * size}", episode_guid="g", done=done)
        return replace(made, position=done)

    stored = replace(of(2_600, 10), revision=5, received=5)  # 4 KiB
    known = ActionSnapshot({stored.key: stored}, 5, NOW, rules.MAX_STORED - 1)
    assert record(known, [of(100, 20)]).added == -3
    assert record(known, [of(2_700, 20)]).added == 0
    assert record(known, [of(3_600, 20)]).added == 1
    with pytest.raises(InvalidInput, match="no room for all of these"):
        record(known, [of(4_600, 20)])
    for longer in (2_600, 100):  # what is too long already can become shorter
        assert record(replace(known, count=rules.MAX_STORED + 9), [of(longer, 20)]).added <= 0
