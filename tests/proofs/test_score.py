"""podsync-check, which scores any server, finds nothing against this one, on either store."""

import json

import pytest
from forms import in_the_long_form
from podsync_check.checking import Level
from podsync_check.cli import ALL_PASSED, SOMETHING_FAILED, main

LEVELS = [level for level in Level if level is not Level.FAST]
PASSWORD = "correct hörse~~battery???"  # both alphabets of base64, and both encodings, differ


def score(process, folder, *options):
    file = folder / "password"
    file.write_text(PASSWORD)
    name = process.new_account(PASSWORD)
    levels = [word for level in LEVELS for word in ("--level", level)]
    login = ["--user", name, "--password-file", str(file), "--json", str(folder / "report")]
    return main([process.base_url, "--strict", *login, *levels, *options])


@in_the_long_form
def test_every_check_of_every_protocol_passes(start, store_kind, tmp_path):
    assert score(start(store_kind), tmp_path) == ALL_PASSED
    outcomes = [one["outcome"] for one in json.loads((tmp_path / "report").read_text())["checks"]]
    assert set(outcomes) == {"passed"}


WAYS = {
    "feedkeep": {
        "a_merge_keeps_what_is_subscribed": "draft._with_status_of_both = lambda one, _: one",
        "if_match_guards_a_change": "resources._expected_by = lambda request: None",
        "stamps_only_rise": "wire.write_stamp = lambda at, w=wire.write_stamp: w(at - at % 10**6)",
        "http_and_https_are_one_feed": "feed_urls._USUAL = re.compile('(https?://.*)')",
    },
    "kept": {
        "a_removed_feed_is_gone_for_others": (
            "handlers.ChangesReply = lambda add, _, at: messages.ChangesReply(add, [], at)"
        ),
        "a_position_is_kept": "messages._number = lambda value: None",
        "a_thousand_actions_are_kept": (
            "sent_actions.ActionPages._chosen = lambda pages, page: page[:20]"
        ),
        "one_upload_of_many_is_kept": (
            "handlers.texts = lambda value, t=handlers.texts: t(value)[:100]"
        ),
        "a_renamed_guid_leads_on": "draft.Draft._redirect = lambda *_: None",
    },
    "complete": {
        "actions_can_be_asked_as_one_each": (
            "episode_actions._Draft._is_news = lambda self, new, stored: not stored"
        ),
        "a_whole_list_can_be_replaced": (
            "url_lists.differences = lambda *a, d=url_lists.differences: (d(*a)[0], [])"
        ),
        "settings_are_kept": "devices.texts = lambda value: []",
        "a_session_ends_with_a_logout": "LogoutResource.post = LoginResource.post",
        "errors_say_what_they_are": "error_responses.METHOD_NOT_ALLOWED = 400",
    },
    "agreed": {
        "since_its_own_upload_misses_nothing": "seconds.knows_all = lambda app, clock: True",
        "since_its_own_clock_misses_nothing": (
            "seconds.first_second = lambda since, newest, app: since"
        ),
        "since_the_timestamp_and_one_misses_nothing": "seconds.is_settled = lambda clock: True",
        "pages_have_everything_once": "paging.next_url = lambda *_: None",
    },
    "tolerant": {
        "told_times_are_plain": (
            "messages.write_time = lambda at, w=messages.write_time: w(at) + '.000'"
        ),
        "all_writings_of_times_are_taken": (
            "messages._DATE_TIME = re.compile('(....)-(..)-(..)T(..):(..):(..)Z?()()()')"
        ),
        "one_bad_url_blocks_nothing": (
            "url_lists.as_linked = lambda url: feed_urls.parse_feed_url(url).text"
        ),
        "a_session_is_enough": "authenticator._set_cookie = lambda *_: None",
        "a_change_of_a_device_is_answered_emptily": "devices.done = lambda: JsonResponse(b'{}')",
        "doubled_slashes_are_taken": "requests.own_path = lambda path, base_path: path",
        "long_urls_are_kept": "episode_actions.MAX_EPISODE_CHARACTERS = 500",
    },
    "safe": {
        "the_path_of_another_user_is_closed": (
            "authenticator._is_theirs = lambda request, admitted: True"
        ),
        "guessing_is_slowed_down": "throttle.Throttle._wait_seconds = lambda *_: 0.0",
    },
}


@in_the_long_form
@pytest.mark.parametrize(
    ("check", "line"),
    [(f"{level}/{check}", line) for level in WAYS for check, line in WAYS[level].items()],
)
def test_feedkeep_broken_in_one_line_is_noticed(prepare, monkeypatch, tmp_path, check, line):
    monkeypatch.setenv("BROKEN_LINE", line)
    # Real hashes can slow down guesses on a busy machine as much as the throttle does.
    with prepare("sqlite", "hashes_are_cheap", "in_one_line") as process:
        assert score(process, tmp_path, "--check", check) == SOMETHING_FAILED
