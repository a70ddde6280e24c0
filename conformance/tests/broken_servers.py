"""The reference server, broken in one way at a time."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from draft_c import SyncedList

from podsync_check.messages import Reply
from podsync_check.reference.lists import ActionLog, Feed, FeedList, SecondClock
from podsync_check.reference.server import Asked, Reference, Refused
from podsync_check.reference.subscriptions import Entry, Subscriptions

Patch = pytest.MonkeyPatch
Breaks = Callable[[Patch], None]


@dataclass(frozen=True)
class Broken:
    """A way to break the server.

    Attributes:
        check: The check that is meant for it.
        also: The checks that cannot but fail as well; "*" stands for most of them.
    """

    check: str
    breaks: Breaks
    also: frozenset[str]


BROKEN: list[Broken] = []


def noticed_by(check: str, *also: str) -> Callable[[Breaks], Breaks]:
    def made(breaks: Breaks) -> Breaks:
        BROKEN.append(Broken(check, breaks, frozenset(also)))
        return breaks

    return made


change, changes, record = FeedList.change, FeedList.changes, ActionLog.record
since, add, patch_entry = ActionLog.since, Subscriptions.add, Subscriptions.change
answer, route = Reference.answer, Reference._route
feeds, actions = Reference.feeds, Reference.actions


def edited(reply: Reply, **fields: Any) -> Reply:
    """Return a reply whose JSON has other fields."""
    return Reply(reply.status, reply.headers, json.dumps({**reply.json(), **fields}).encode())


@noticed_by("an_added_feed_is_kept", "*")
def a_feed_that_is_alone_in_an_upload_is_lost(patch: Patch) -> None:
    def lost(kept: FeedList, add: list[str], remove: list[str]) -> Any:
        return change(kept, [] if len(add) == 1 and not remove else add, remove)

    patch.setattr(FeedList, "change", lost)


@noticed_by("a_removed_feed_is_gone_for_others", "a_removal_has_the_text_that_was_sent")
def removals_are_not_told(patch: Patch) -> None:
    def told(kept: FeedList, app: str, since: int) -> Any:
        return changes(kept, app, since)[0], []

    patch.setattr(FeedList, "changes", told)


@noticed_by("a_removed_feed_stays_removed")
def an_upload_brings_back_what_was_removed_last(patch: Patch) -> None:
    def brings_back(kept: FeedList, add: list[str], remove: list[str]) -> Any:
        gone = [url for url, feed in kept.feeds.items() if not feed.is_subscribed]
        again = gone[-1:] if add and not remove and add[0].endswith("feed-1") else []
        return change(kept, [*add, *again], remove)

    patch.setattr(FeedList, "change", brings_back)


@noticed_by(
    "a_feed_can_be_added_again",
    "nothing_is_added_and_removed_at_once",
    "what_was_uploaded_is_not_taken_back",
)
def a_known_feed_is_not_added_again(patch: Patch) -> None:
    def ignores(kept: FeedList, add: list[str], remove: list[str]) -> Any:
        return change(kept, [url for url in add if url not in kept.feeds], remove)

    patch.setattr(FeedList, "change", ignores)


@noticed_by("an_upload_can_be_repeated")
def what_was_played_before_is_refused(patch: Patch) -> None:
    def unique(log: ActionLog, sent: Any, device: str) -> None:
        known = [{**action, "device": ""} for _, action in log.actions]
        if any({**action, "device": ""} in known for action in sent):
            raise Refused(500)
        record(log, sent, device)

    patch.setattr(ActionLog, "record", unique)


@noticed_by("a_removal_can_be_repeated")
def the_removal_of_what_is_unknown_is_refused(patch: Patch) -> None:
    def refuses(kept: FeedList, add: list[str], remove: list[str]) -> Any:
        if any(url not in kept.feeds for url in remove):
            raise Refused(404)
        return change(kept, add, remove)

    patch.setattr(FeedList, "change", refuses)


@noticed_by("an_empty_upload_changes_nothing")
def an_upload_is_taken_for_the_whole_list(patch: Patch) -> None:
    def replaces(kept: FeedList, add: list[str], remove: list[str]) -> Any:
        return change(kept, add, remove if add or remove else kept.subscribed())

    patch.setattr(FeedList, "change", replaces)


def _one_at_a_time(patch: Patch, method: str, path: str) -> None:
    """Answer 500 to a request that comes while another is answered.

    In each check, one that comes beside others waits for another to come.
    """
    busy, another_came, met = threading.Lock(), threading.Event(), set[bytes]()

    def answers(server: Reference, how: str, target: str, headers: Any, body: bytes) -> Reply:
        if how != method or path not in target:
            return answer(server, how, target, headers, body)
        mark = body.partition(b"podsync-check-")[2].partition(b".")[0]
        if not busy.acquire(blocking=False):
            another_came.set()
            return Reply(500, {}, b"database is locked")
        try:
            is_beside = threading.current_thread() is not threading.main_thread()
            if is_beside and mark not in met:
                another_came.clear()
                another_came.wait(10.0)
                met.add(mark)
            return answer(server, how, target, headers, body)
        finally:
            busy.release()

    patch.setattr(Reference, "answer", answers)


@noticed_by(
    "devices_at_once_lose_nothing",
    "devices_at_once_lose_no_subscription",
    "the_same_feed_at_once_is_one",
)
def uploads_of_feeds_exclude_one_another(patch: Patch) -> None:
    _one_at_a_time(patch, "POST", "subscription")


@noticed_by("actions_at_once_lose_nothing")
def uploads_of_actions_exclude_one_another(patch: Patch) -> None:
    _one_at_a_time(patch, "POST", "episode")


@noticed_by("devices_at_once_lose_no_subscription")
def additions_exclude_one_another(patch: Patch) -> None:
    _one_at_a_time(patch, "POST", "/v1/subscriptions")


@noticed_by("one_upload_of_many_is_kept", "a_whole_list_can_be_replaced")
def only_a_hundred_feeds_are_taken(patch: Patch) -> None:
    patch.setattr(FeedList, "change", lambda kept, add, gone: change(kept, add[:100], gone))


@noticed_by("a_position_is_kept")
def the_start_is_forgotten(patch: Patch) -> None:
    def forgets(log: ActionLog, sent: Any, device: str) -> None:
        record(log, [{**one, "started": one.get("started") and 0} for one in sent], device)

    patch.setattr(ActionLog, "record", forgets)


@noticed_by("the_newest_position_wins", "actions_can_be_asked_as_one_each")
def the_first_position_is_kept(patch: Patch) -> None:
    def first(log: ActionLog, sent: Any, device: str) -> None:
        known = {action["episode"] for _, action in log.actions}
        record(log, [one for one in sent if one["episode"] not in known], device)

    patch.setattr(ActionLog, "record", first)


@noticed_by("a_late_upload_reaches_the_others", "actions_since_the_timestamp_miss_nothing")
def actions_are_told_by_their_own_time(patch: Patch) -> None:
    def by_time(log: ActionLog, app: str, second: int) -> Any:
        return since(log, app, second) if second == 0 else []

    patch.setattr(ActionLog, "since", by_time)


@noticed_by("a_thousand_actions_are_kept")
def only_the_last_hundred_actions_are_told(patch: Patch) -> None:
    patch.setattr(ActionLog, "since", lambda *given: since(*given)[-100:])


@noticed_by("an_action_of_a_feed_that_is_gone_is_kept", "*")
def actions_of_unknown_feeds_are_refused(patch: Patch) -> None:
    def refuses(server: Reference, asked: Asked, named: Mapping[str, str]) -> Reply:
        if asked.method == "POST":
            known = set(server.list.feeds)
            if any(
                one.get("podcast") not in known for one in asked.json(list) if isinstance(one, dict)
            ):
                raise Refused(500)
        return actions(server, asked, named)

    patch.setattr(Reference, "actions", refuses)


@noticed_by(
    "since_the_timestamp_misses_nothing",
    "actions_since_the_timestamp_miss_nothing",
    "since_its_own_clock_misses_nothing",
    "since_its_own_upload_misses_nothing",
    "since_the_timestamp_and_one_misses_nothing",
)
def the_second_of_a_poll_is_left_out(patch: Patch) -> None:
    """Compare with "later than", and tell apart no changes of one second."""
    patch.setattr(SecondClock, "stamp", lambda clock: max(int(clock.now()), clock.last))
    patch.setattr(SecondClock, "first", lambda clock, app, second: second + bool(second))


@noticed_by(
    "since_the_timestamp_and_one_misses_nothing",
    "actions_since_the_timestamp_miss_nothing",
    "since_its_own_clock_misses_nothing",
)
def the_next_second_is_not_kept_free(patch: Patch) -> None:
    def stamp(clock: SecondClock) -> int:
        clock.last = max(int(clock.now()), clock.last)
        return clock.last

    patch.setattr(SecondClock, "stamp", stamp)
    patch.setattr(SecondClock, "first", lambda clock, app, second: second)


@noticed_by("since_its_own_upload_misses_nothing", "since_its_own_clock_misses_nothing")
def an_upload_tells_its_own_second(patch: Patch) -> None:
    def told(server: Reference, clock: SecondClock, asked: Asked) -> int:
        return clock.tell(asked.app, asked.session)

    patch.setattr(Reference, "_after_upload", told)


@noticed_by("since_its_own_clock_misses_nothing")
def any_since_is_believed(patch: Patch) -> None:
    patch.setattr(SecondClock, "first", lambda clock, app, second: second)


@noticed_by("actions_since_the_timestamp_miss_nothing")
def actions_have_whole_seconds_only(patch: Patch) -> None:
    def stamp(clock: SecondClock) -> int:
        clock.last = max(int(clock.now()), clock.last)
        return clock.last

    def record_so(log: ActionLog, sent: Any, device: str) -> None:
        with patch.context() as inside:
            inside.setattr(SecondClock, "stamp", stamp)
            record(log, sent, device)

    patch.setattr(ActionLog, "record", record_so)


@noticed_by("the_same_feed_at_once_is_one", "an_upload_can_be_repeated")
def a_feed_that_is_added_twice_cannot_be_removed(patch: Patch) -> None:
    def counts(kept: FeedList, add: list[str], remove: list[str]) -> Any:
        for url in add:
            if url in kept.feeds and kept.feeds[url].is_subscribed and len(add) == 1:
                kept.feeds[f"{url}#"] = Feed(is_subscribed=True, changed=kept.clock.stamp())
        return change(kept, add, remove)

    patch.setattr(FeedList, "change", counts)


@noticed_by("a_year_away_misses_nothing")
def only_a_week_is_told(patch: Patch) -> None:
    week = 7 * 24 * 3600

    def told(kept: FeedList, app: str, second: int) -> Any:
        if 0 < second < kept.clock.now() - week:
            return [], []
        return changes(kept, app, second)

    patch.setattr(FeedList, "changes", told)


@noticed_by("a_removal_has_the_text_that_was_sent")
def removals_are_told_decoded(patch: Patch) -> None:
    def told(kept: FeedList, app: str, second: int) -> Any:
        add, remove = changes(kept, app, second)
        return add, [url.replace("%3A", ":") for url in remove]

    patch.setattr(FeedList, "changes", told)


@noticed_by(
    "nothing_is_added_and_removed_at_once",
    "a_feed_can_be_added_again",
    "what_was_uploaded_is_not_taken_back",
)
def every_change_is_told(patch: Patch) -> None:
    def told(kept: FeedList, app: str, second: int) -> Any:
        add, remove = changes(kept, app, second)
        return add, [*remove, *(url for url in add if url in _removed)] if second else []

    _removed = set[str]()

    def changed(kept: FeedList, add: Iterable[str], remove: Iterable[str]) -> Any:
        _removed.update(remove)
        return change(kept, add, remove)  # type: ignore[arg-type]

    patch.setattr(FeedList, "changes", told)
    patch.setattr(FeedList, "change", changed)


@noticed_by("what_was_uploaded_is_not_taken_back", "a_feed_can_be_added_again")
def the_removal_of_before_is_told_with_the_addition(patch: Patch) -> None:
    removed = dict[str, int]()

    def told(kept: FeedList, app: str, second: int) -> Any:
        add, remove = changes(kept, app, second)
        return add, [*remove, *(url for url in add if removed.get(url, second + 1) <= second)]

    def changed(kept: FeedList, add: Iterable[str], remove: Iterable[str]) -> Any:
        removed.update((url, kept.clock.last) for url in remove)
        return change(kept, add, remove)  # type: ignore[arg-type]

    patch.setattr(FeedList, "changes", told)
    patch.setattr(FeedList, "change", changed)


@noticed_by("random_interleavings_lose_nothing")
def a_removal_that_crosses_an_addition_wins_once_in_a_while(patch: Patch) -> None:
    """Take every seventh upload of several feeds for the removal of the first one."""
    count = iter(range(10**9))

    def crosses(kept: FeedList, add: list[str], remove: list[str]) -> Any:
        if "/world-" in "".join(add) and next(count) % 7 == 6:
            return change(kept, add[1:], [*remove, add[0]])
        return change(kept, add, remove)

    patch.setattr(FeedList, "change", crosses)


@noticed_by("devices_have_one_list")
def each_device_has_a_list(patch: Patch) -> None:
    lists = dict[str, FeedList]()

    def of_device(server: Reference, asked: Asked, named: Mapping[str, str]) -> Reply:
        device = named.get("device", "")
        if device in {"", "podsync-check-1"}:
            return feeds(server, asked, named)
        whole, server.list = (
            server.list,
            lists.setdefault(device, FeedList(SecondClock(server.now))),
        )
        try:
            return feeds(server, asked, named)
        finally:
            server.list = whole

    patch.setattr(Reference, "feeds", of_device)


# Faults with requests of real apps.
def _refuse(patch: Patch, is_refused: Callable[[Asked], bool], status: int = 400) -> None:
    def routed(server: Reference, asked: Asked) -> Reply:
        if is_refused(asked):
            raise Refused(status)
        return route(server, asked)

    patch.setattr(Reference, "_route", routed)


def _refuse_action(patch: Patch, is_refused: Callable[[dict[str, Any]], bool]) -> None:
    def refuses(log: ActionLog, sent: Any, device: str) -> None:
        if any(map(is_refused, sent)):
            raise Refused(422)
        record(log, sent, device)

    patch.setattr(ActionLog, "record", refuses)


@noticed_by("any_content_type_is_taken")
def forms_are_no_json(patch: Patch) -> None:
    _refuse(patch, lambda asked: "urlencoded" in asked.headers.get("content-type", "")
            and "login" not in asked.path, 415)  # fmt: skip


@noticed_by("one_bad_url_blocks_nothing")
def one_bad_url_is_refused_with_all(patch: Patch) -> None:
    def strict(kept: FeedList, add: list[str], remove: list[str]) -> Any:
        if not all(url.startswith("http") for url in add):
            raise Refused(400)
        return change(kept, add, remove)

    patch.setattr(FeedList, "change", strict)


@noticed_by("numbers_below_zero_are_taken")
def numbers_below_zero_are_refused(patch: Patch) -> None:
    _refuse_action(patch, lambda one: (one.get("position") or 0) < 0)


@noticed_by("a_play_without_numbers_is_taken")
def plays_need_numbers(patch: Patch) -> None:
    _refuse_action(patch, lambda one: one.get("position") is None)


@noticed_by("all_writings_of_times_are_taken")
def times_have_no_offset(patch: Patch) -> None:
    _refuse_action(patch, lambda one: "+" in str(one.get("timestamp")))


@noticed_by("told_times_are_plain")
def times_are_told_with_fractions(patch: Patch) -> None:
    def told(*given: Any) -> Any:
        return [{**one, "timestamp": f"{one['timestamp']}.000"} for one in since(*given)]

    patch.setattr(ActionLog, "since", told)


@noticed_by("an_action_in_capitals_is_taken")
def capitals_are_refused(patch: Patch) -> None:
    _refuse_action(patch, lambda one: str(one["action"]).isupper())


@noticed_by("long_urls_are_kept")
def urls_have_500_characters_at_most(patch: Patch) -> None:
    _refuse_action(patch, lambda one: len(str(one["episode"])) > 500)


@noticed_by("signs_in_urls_are_kept")
def a_plus_becomes_a_space(patch: Patch) -> None:
    def kept_so(kept: FeedList, add: list[str], remove: list[str]) -> Any:
        plain = [url.replace("q=a+b", "q=a%20b") for url in add]
        return change(kept, plain, [url.replace("q=a+b", "q=a%20b") for url in remove])

    patch.setattr(FeedList, "change", kept_so)


@noticed_by("unknown_fields_are_ignored")
def unknown_fields_are_refused(patch: Patch) -> None:
    _refuse_action(patch, lambda one: "speed" in one)


@noticed_by("a_probe_of_the_far_future_is_answered")
def the_far_future_is_refused(patch: Patch) -> None:
    _refuse(patch, lambda asked: asked.query.get("since") == str(2**31 - 1))


@noticed_by("no_since_means_everything")
def since_is_needed(patch: Patch) -> None:
    _refuse(patch, lambda asked: asked.method == "GET" and "episode" in asked.path
            and "since" not in asked.query)  # fmt: skip


@noticed_by("an_unreadable_body_is_no_fault_of_the_server")
def nonsense_is_a_fault_of_the_server(patch: Patch) -> None:
    _refuse(patch, lambda asked: asked.body == b"\xff\xfe", 500)


@noticed_by("a_password_with_each_request_is_enough", "a_stranger_is_asked_for_a_password")
def a_session_is_needed(patch: Patch) -> None:
    _refuse(patch, lambda asked: "/api/2/devices" in asked.path
            and "cookie" not in asked.headers, 401)  # fmt: skip


@noticed_by("a_session_is_enough")
def a_session_is_not_enough(patch: Patch) -> None:
    def logged_in(server: Reference, asked: Asked, _: Mapping[str, str]) -> Reply:
        return Reply(200, {}, b"{}")

    patch.setattr(Reference, "log_in", logged_in)


@noticed_by("a_stranger_is_asked_for_a_password")
def a_stranger_is_told_nothing(patch: Patch) -> None:
    patch.setattr("podsync_check.reference.server._CHALLENGE", {})


@noticed_by("a_change_of_a_device_is_answered_emptily")
def a_change_of_a_device_is_answered_with_json(patch: Patch) -> None:
    device = Reference.device

    def described(server: Reference, asked: Asked, named: Mapping[str, str]) -> Reply:
        device(server, asked, named)
        return Reply(200, {}, b"{}")

    patch.setattr(Reference, "device", described)


@noticed_by("an_unknown_device_is_made")
def an_unknown_device_is_refused(patch: Patch) -> None:
    def known_only(server: Reference, asked: Asked, named: Mapping[str, str]) -> Reply:
        if named.get("device", "podsync-check-1") not in server.devices and "device" in named:
            raise Refused(404)
        return feeds(server, asked, named)

    patch.setattr(Reference, "feeds", known_only)


@noticed_by("a_device_is_described")
def captions_are_forgotten(patch: Patch) -> None:
    device_list = Reference.device_list

    def told(server: Reference, asked: Asked, named: Mapping[str, str]) -> Reply:
        found = [{**one, "caption": ""} for one in device_list(server, asked, named).json()]
        return Reply(200, {}, json.dumps(found).encode())

    patch.setattr(Reference, "device_list", told)


def _missing(patch: Patch, *parts: str) -> None:
    _refuse(patch, lambda asked: any(part in asked.path for part in parts), 404)


@noticed_by("a_whole_list_can_be_read")
def there_is_no_opml(patch: Patch) -> None:
    _missing(patch, ".opml")


@noticed_by("a_whole_list_can_be_replaced")
def a_whole_list_is_added_only(patch: Patch) -> None:
    whole_list = Reference.whole_list

    def added(server: Reference, asked: Asked, named: Mapping[str, str]) -> Reply:
        if asked.method == "PUT":
            server.list.change(asked.json(list), [])
            return Reply(200, {}, b"")
        return whole_list(server, asked, named)

    patch.setattr(Reference, "whole_list", added)


@noticed_by("actions_of_one_feed_can_be_asked")
def the_feed_that_is_asked_for_is_ignored(patch: Patch) -> None:
    def told(server: Reference, asked: Asked, named: Mapping[str, str]) -> Reply:
        query = {name: text for name, text in asked.query.items() if name != "podcast"}
        whole = Asked(asked.method, asked.path, query, asked.headers, asked.body, asked.app)
        return actions(server, whole, named)

    patch.setattr(Reference, "actions", told)


@noticed_by("actions_can_be_asked_as_one_each")
def all_actions_are_told_always(patch: Patch) -> None:
    def everything(log: ActionLog, app: str, asked: int) -> list[dict[str, Any]]:
        first = log.clock.first(app, asked)
        return [action for stamp, action in log.actions if stamp >= first]

    def answers(server: Reference, how: str, target: str, headers: Any, body: bytes) -> Reply:
        return answer(server, how, target.replace("aggregated=true", ""), headers, body)

    patch.setattr(Reference, "answer", answers)
    patch.setattr(ActionLog, "since", everything)


@noticed_by("settings_are_kept")
def settings_cannot_be_removed(patch: Patch) -> None:
    setting = Reference.setting

    def kept(server: Reference, asked: Asked, named: Mapping[str, str]) -> Reply:
        before = dict(server.settings.get(named["scope"], {}))
        setting(server, asked, named)
        server.settings[named["scope"]] |= before
        return Reply(200, {}, json.dumps(server.settings[named["scope"]]).encode())

    patch.setattr(Reference, "setting", kept)


@noticed_by("favorites_are_listed")
def there_are_no_favorites(patch: Patch) -> None:
    _missing(patch, "favorites")


@noticed_by("news_of_a_device_are_told")
def there_are_no_news(patch: Patch) -> None:
    _missing(patch, "updates")


@noticed_by("linked_devices_are_told")
def links_are_not_told(patch: Patch) -> None:
    _missing(patch, "sync-devices")


@noticed_by("a_session_ends_with_a_logout")
def a_logout_ends_nothing(patch: Patch) -> None:
    patch.setattr(Reference, "log_out", lambda *_: Reply(200, {}, b""))


@noticed_by("a_login_begins_in_the_browser")
def there_is_no_login_in_the_browser(patch: Patch) -> None:
    _missing(patch, "login/v2")


@noticed_by("doubled_slashes_are_taken")
def doubled_slashes_are_another_path(patch: Patch) -> None:
    def strict(server: Reference, how: str, target: str, *rest: Any) -> Reply:
        if target.startswith("//"):
            return Reply(404, {}, b"")
        return answer(server, how, target, *rest)

    patch.setattr(Reference, "answer", strict)


@noticed_by("a_password_in_other_base64_is_taken")
def only_the_usual_base64_is_read(patch: Patch) -> None:
    _refuse(
        patch, lambda asked: set("-_") & set(asked.headers.get("authorization", "")) != set(), 401
    )


@noticed_by("a_password_in_latin_1_is_taken")
def passwords_are_utf_8(patch: Patch) -> None:
    patch.setattr(
        "podsync_check.reference.server._read", lambda sent: sent.decode("utf-8", "replace")
    )


# The Open Podcast API.
@noticed_by("an_added_subscription_is_kept")
def booleans_are_texts(patch: Patch) -> None:
    def added(kept: Subscriptions, item: Mapping[str, Any]) -> Any:
        done = add(kept, item)
        return done and {**done, "is_subscribed": "true"}

    patch.setattr(Subscriptions, "add", added)


@noticed_by(
    "adding_twice_makes_one",
    "a_guid_comes_from_the_url",
    "a_moved_feed_is_one_subscription",
    "http_and_https_are_one_feed",
)
def every_addition_is_a_new_one(patch: Patch) -> None:
    def added(kept: Subscriptions, item: Mapping[str, Any]) -> Any:
        known = str(item["feed_url"]).partition("://")[2].rstrip("/")
        kept.urls.pop(known, None)
        guid = f"{len(kept.entries):08x}-0000-4000-8000-000000000000"
        return add(kept, {**item, "guid": item.get("guid") or guid})

    patch.setattr(Subscriptions, "add", added)


@noticed_by("random_orders_lose_nothing")
def who_comes_back_is_not_told(patch: Patch) -> None:
    def added(kept: Subscriptions, item: Mapping[str, Any]) -> Any:
        url = str(item["feed_url"])
        before = kept.find_url(url)
        old = before and not before.is_subscribed and not before.deleted and before.changed
        done = add(kept, item)
        if before and old:
            before.changed = old
        return done

    patch.setattr(Subscriptions, "add", added)


@noticed_by("one_bad_item_blocks_nothing")
def one_bad_item_is_refused_with_all(patch: Patch) -> None:
    def added(kept: Subscriptions, item: Mapping[str, Any]) -> Any:
        if "://" not in str(item["feed_url"]):
            raise Refused(405)
        return add(kept, item)

    patch.setattr(Subscriptions, "add", added)


@noticed_by("a_guid_that_is_sent_is_kept")
def a_guid_that_is_sent_is_ignored(patch: Patch) -> None:
    patch.setattr(
        Subscriptions, "add", lambda kept, item: add(kept, {"feed_url": item["feed_url"]})
    )


@noticed_by("a_guid_comes_from_the_url")
def guids_have_another_namespace(patch: Patch) -> None:
    patch.setattr("podsync_check.reference.subscriptions._NAMESPACE", uuid.NAMESPACE_URL)


@noticed_by("http_and_https_are_one_feed")
def the_scheme_makes_another_feed(patch: Patch) -> None:
    def added(kept: Subscriptions, item: Mapping[str, Any]) -> Any:
        url = str(item["feed_url"])
        if url.startswith("http://"):
            return add(kept, {**item, "guid": "00000000-0000-4000-8000-000000000001"})
        return add(kept, item)

    patch.setattr(Subscriptions, "add", added)


@noticed_by("an_unsubscription_is_kept", "stamps_only_rise")
def an_unsubscription_has_the_stamp_of_before(patch: Patch) -> None:
    def changed(kept: Subscriptions, entry: Entry, sent: Mapping[str, Any]) -> Any:
        before = entry.changed
        reply = patch_entry(kept, entry, sent)
        if sent == {"is_subscribed": False}:
            return {**reply, "subscription_changed": before}
        return reply

    patch.setattr(Subscriptions, "change", changed)


@noticed_by("a_moved_feed_is_one_subscription")
def the_old_url_is_forgotten(patch: Patch) -> None:
    def changed(kept: Subscriptions, entry: Entry, sent: Mapping[str, Any]) -> Any:
        if "new_feed_url" in sent:
            kept.urls = {}
            kept.entries[entry.guid] = entry
            old = entry.feed_url.partition("://")[2]
            kept.urls[old] = "00000000-0000-4000-8000-000000000009"
        return patch_entry(kept, entry, sent)

    patch.setattr(Subscriptions, "change", changed)


@noticed_by("a_renamed_guid_leads_on")
def the_old_guid_is_forgotten(patch: Patch) -> None:
    def changed(kept: Subscriptions, entry: Entry, sent: Mapping[str, Any]) -> Any:
        old = entry.guid
        reply = patch_entry(kept, entry, sent)
        if "new_guid" in sent:
            del kept.entries[old]
        return reply

    patch.setattr(Subscriptions, "change", changed)


@noticed_by("a_deletion_is_told")
def deletions_are_not_listed(patch: Patch) -> None:
    listed = Subscriptions.since
    patch.setattr(
        Subscriptions, "since", lambda *given: [e for e in listed(*given) if not e.deleted]
    )


@noticed_by("a_deleted_feed_can_be_added_again")
def a_deletion_stays(patch: Patch) -> None:
    def added(kept: Subscriptions, item: Mapping[str, Any]) -> Any:
        deleted = {entry.feed_url: entry.deleted for entry in kept.entries.values()}
        done = add(kept, item)
        if done and (stamp := deleted.get(str(item["feed_url"]))):
            kept.entries[done["guid"]].deleted = stamp
        return done

    patch.setattr(Subscriptions, "add", added)


@noticed_by("following_the_list_misses_nothing", "a_deletion_is_told")
def the_list_is_told_from_the_next_millisecond(patch: Patch) -> None:
    listed = Subscriptions.since

    def told(kept: Subscriptions, moment: str) -> Any:
        later = moment[:-8] + "999999Z" if moment else ""
        return listed(kept, later)

    patch.setattr(Subscriptions, "since", told)


@noticed_by("pages_have_everything_once")
def pages_overlap(patch: Patch) -> None:
    subscription_list = Reference.subscription_list

    def told(server: Reference, asked: Asked, named: Mapping[str, str]) -> Reply:
        reply = subscription_list(server, asked, named)
        if asked.query.get("per_page") == "10":
            page = reply.json()
            return edited(reply, subscriptions=page["subscriptions"][:-1])
        return reply

    patch.setattr(Reference, "subscription_list", told)


@noticed_by("errors_say_what_they_are")
def errors_have_no_code(patch: Patch) -> None:
    def answers(server: Reference, how: str, target: str, *rest: Any) -> Reply:
        reply = answer(server, how, target, *rest)
        return reply if reply.status < 400 else Reply(reply.status, reply.headers, b'{"error": 1}')

    patch.setattr(Reference, "answer", answers)


@noticed_by("a_repeated_change_is_taken")
def a_change_without_effect_is_refused(patch: Patch) -> None:
    def changed(kept: Subscriptions, entry: Entry, sent: Mapping[str, Any]) -> Any:
        if sent.get("new_feed_url") == entry.feed_url:
            raise Refused(405)
        return patch_entry(kept, entry, sent)

    patch.setattr(Subscriptions, "change", changed)


@noticed_by("stamps_only_rise")
def changes_have_whole_seconds(patch: Patch) -> None:
    def changed(kept: Subscriptions, entry: Entry, sent: Mapping[str, Any]) -> Any:
        reply = patch_entry(kept, entry, sent)
        if "new_feed_url" not in sent and "subscription_changed" in reply:
            reply["subscription_changed"] = reply["subscription_changed"][:19] + "Z"
        return reply

    patch.setattr(Subscriptions, "change", changed)


@noticed_by("if_match_guards_a_change")
def tags_are_ignored(patch: Patch) -> None:
    subscription = Reference.subscription

    def told(server: Reference, asked: Asked, named: Mapping[str, str]) -> Reply:
        headers = {name: text for name, text in asked.headers.items() if name != "if-match"}
        return subscription(server, replace(asked, headers=headers), named)

    patch.setattr(Reference, "subscription", told)


@noticed_by("a_merge_keeps_what_is_subscribed")
def a_merge_takes_the_status_of_the_one_that_is_renamed(patch: Patch) -> None:
    def changed(kept: Subscriptions, entry: Entry, sent: Mapping[str, Any]) -> Any:
        before = entry.is_subscribed
        reply = patch_entry(kept, entry, sent)
        if "new_guid" in sent:
            entry.is_subscribed = before
        return reply

    patch.setattr(Subscriptions, "change", changed)


# Faults with strangers, and slow replies.
_admit = Reference._admit


def _lets_in(patch: Patch, is_let_in: Callable[[Asked], bool]) -> None:
    def admits(server: Reference, asked: Asked) -> bool:
        return not is_let_in(asked) and _admit(server, asked)

    patch.setattr(Reference, "_admit", admits)


@noticed_by("strangers_get_nothing")
def uploads_need_no_credential(patch: Patch) -> None:
    _lets_in(patch, lambda asked: asked.method == "POST" and "authorization" not in asked.headers
             and "cookie" not in asked.headers and "/v1/" not in asked.path)  # fmt: skip


@noticed_by("what_is_wrong_is_refused")
def any_session_is_taken(patch: Patch) -> None:
    _lets_in(patch, lambda asked: asked.headers.get("cookie") == "sessionid=1")


@noticed_by("guessing_is_slowed_down")
def guesses_are_answered_at_once(patch: Patch) -> None:
    patch.setattr("podsync_check.reference.server.MAX_GUESSES", 10**9)


@noticed_by("absurd_bodies_harm_nobody")
def every_body_is_read(patch: Patch) -> None:
    _refuse(patch, lambda asked: len(asked.body) > 2**20, 500)
    patch.setattr("podsync_check.reference.server.MAX_BODY_BYTES", 2**40)


@noticed_by("the_path_of_another_user_is_closed")
def names_in_paths_are_ignored(patch: Patch) -> None:
    def routed(server: Reference, asked: Asked) -> Reply:
        path = asked.path.replace("/not-anna", "/anna")
        return route(server, replace(asked, path=path))

    patch.setattr(Reference, "_route", routed)


@noticed_by("strangers_get_no_subscription")
def any_token_is_taken(patch: Patch) -> None:
    _lets_in(patch, lambda asked: asked.headers.get("authorization") == "Bearer made-up")


def _silent_after(patch: Patch, text: bytes) -> None:
    """Give no reply to polls with a text among the added feeds or the plays."""

    def answers(server: Reference, how: str, target: str, headers: Any, body: bytes) -> Reply:
        reply = answer(server, how, target, headers, body)
        if how == "GET" and text in reply.body.partition(b'"remove"')[0]:
            raise OSError("timed out")
        return reply

    patch.setattr(Reference, "answer", answers)


@noticed_by("a_first_sync_of_many_feeds_takes_seconds")
def a_poll_of_many_feeds_gets_no_reply(patch: Patch) -> None:
    _silent_after(patch, b'feed-999"')


@noticed_by("a_first_sync_of_many_actions_takes_seconds")
def a_poll_of_many_actions_gets_no_reply(patch: Patch) -> None:
    _silent_after(patch, b"/9999.mp3")


# Draft C.
act, synced_since = SyncedList.act, SyncedList.since


def _acts(patch: Patch, change: Callable[[SyncedList, dict[str, Any]], Any]) -> None:
    patch.setattr(SyncedList, "act", lambda kept, action: change(kept, dict(action)))


@noticed_by("a_subscription_is_told_by_sync", "*")
def sync_tells_nothing(patch: Patch) -> None:
    patch.setattr(SyncedList, "since", lambda *_: [])


@noticed_by("an_unsubscription_is_told_by_sync")
def sync_tells_no_unsubscription(patch: Patch) -> None:
    def told(kept: SyncedList, moment: str) -> Any:
        found = synced_since(kept, moment)
        return [one for one in found if "unsubscribed_at" not in one["data"]]

    patch.setattr(SyncedList, "since", told)


@noticed_by("a_sync_action_can_be_repeated")
def sync_applies_the_same_again(patch: Patch) -> None:
    def again(kept: SyncedList, action: dict[str, Any]) -> Any:
        for one in kept.entries.values():
            if one.occurred == action["occurred_at"]:
                one.occurred = ""
        return act(kept, action)

    _acts(patch, again)


@noticed_by("an_older_sync_action_changes_nothing")
def sync_takes_the_last_that_arrives(patch: Patch) -> None:
    def last(kept: SyncedList, action: dict[str, Any]) -> Any:
        for one in kept.entries.values():
            if one.occurred > action["occurred_at"]:
                one.occurred = ""
        return act(kept, action)

    _acts(patch, last)


@noticed_by("one_unknown_entity_blocks_nothing")
def sync_refuses_all_for_one(patch: Patch) -> None:
    def refuses(kept: SyncedList, action: dict[str, Any]) -> Any:
        done = act(kept, action)
        if done["status"] == "rejected":
            raise Refused(400)
        return done

    _acts(patch, refuses)


@noticed_by("a_late_sync_action_reaches_the_others")
def sync_tells_by_the_clients_clock(patch: Patch) -> None:
    def applied(kept: SyncedList, action: dict[str, Any]) -> Any:
        done = act(kept, action)
        if done["status"] == "applied":
            kept.entries[done["data"]["sync_id"]].updated = action["occurred_at"]
        return done

    _acts(patch, applied)
