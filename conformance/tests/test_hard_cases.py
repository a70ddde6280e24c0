"""An app that is right holds in every hard case; one that is wrong in one way fails one."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from watched import BASIC, WORLD, Phone, asked, gpodder, nextcloud, strict, wrong_with

from podsync_check.checks import all_hard_cases
from podsync_check.messages import Call, NoAnswer, Reply, Request, Wrong
from podsync_check.protocols.openpodcast import Entry, OpenPodcastCalls, Page
from podsync_check.protocols.url_lists import Changes, Uploaded
from podsync_check.simulated.strict import StrictApp
from podsync_check.watching import watch
from podsync_check.watching.exchanges import Fault
from podsync_check.watching.hard_cases import HardCase, Verdict


@pytest.fixture(autouse=True)
def _slow_replies_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "SLOW_SECONDS", 0.0)


@pytest.mark.parametrize("app", [gpodder, nextcloud, strict])
def test_an_app_that_is_right_holds_in_every_case(app: Any) -> None:
    wrong, watch = wrong_with(app())
    assert wrong == {}
    assert watch.objection_count == 0, [one.objections for one in watch.exchanges]
    verdicts = [one.verdict for one in watch.course.standings]
    assert verdicts.count(Verdict.HELD) >= 6
    if app is not strict:
        assert set(verdicts) <= {Verdict.HELD, Verdict.NOT_APPLICABLE}


def test_a_list_of_many_pages_is_one_poll() -> None:
    wrong, watch = wrong_with(strict(), feeds=450)
    assert wrong == {}
    assert watch.objection_count == 0


class Family(Phone):
    """Two devices of one account that sync in turn."""

    def sync(self) -> None:
        other = self.__dict__.setdefault("other", gpodder("tablet"))
        super().sync()
        own = self.app, self.cookie
        self.app, self.cookie = other, self.__dict__.get("other_cookie", "")
        super().sync()
        self.other_cookie = self.cookie
        self.app, self.cookie = own


def test_two_devices_of_one_account_are_not_taken_for_one() -> None:
    wrong, watch = wrong_with(gpodder(), Family)
    assert wrong == {}
    assert watch.objection_count == 0


class WithALaptop(Phone):
    """A phone whose owner has an app of another name on a laptop, which does as it likes."""

    def sync(self) -> None:
        super().sync()
        laptop = {"User-Agent": "laptop/1", "Authorization": BASIC}
        since = Request("GET", "/index.php/apps/gpoddersync/subscriptions?since=1")
        with suppress(NoAnswer):
            told = asked(self.watch, since, laptop).json()
            sent = json.dumps({"add": told["remove"], "remove": []}).encode()
            create = "/index.php/apps/gpoddersync/subscription_change/create"
            asked(self.watch, Request("POST", create, sent), laptop)


def test_what_another_app_does_is_not_judged() -> None:
    wrong, _ = wrong_with(
        nextcloud(), WithALaptop, only="a_feed_removed_elsewhere_is_not_added_back"
    )
    assert wrong == {}


class WithBoth(Phone):
    """A phone that always shows the password and the session of last time, as mygpoclient does."""

    def reply_to(self, call: Call[Any]) -> Reply:
        headers = {"User-Agent": "phone/1.0", "Authorization": BASIC, "Cookie": self.cookie}
        reply = asked(self.watch, call.request, headers)
        self.cookie = reply.headers.get("set-cookie", self.cookie).partition(";")[0]
        return reply


def test_a_session_that_ended_is_begun_again_by_a_password() -> None:
    wrong, watch = wrong_with(gpodder(), WithBoth)
    assert wrong == {}
    assert watch.objection_count == 0


class Probing(Phone):
    """A phone that asks without a credential first, as mygpoclient does."""

    def ask(self, call: Call[Any]) -> Any:
        with suppress(NoAnswer):
            assert asked(self.watch, call.request, {"User-Agent": "phone/1.0"}).status == 401
        return super().ask(call)


def test_a_request_without_a_credential_is_nothing_to_judge() -> None:
    wrong, watch = wrong_with(gpodder(), Probing)
    assert wrong == {}
    probes = [
        one for one in watch.exchanges if not {"authorization", "cookie"} & one.headers.keys()
    ]
    assert {one.fault for one in probes} == {None}


class Piecemeal(Phone):
    """A phone whose app tells each change in a request of its own."""

    def ask(self, call: Call[Any]) -> Any:
        sent = json.loads(call.request.body) if "subscription_change" in str(call.request) else {}
        parts = [(name, url) for name in ("add", "remove") for url in sent.get(name, [])]
        for name, url in parts[1:]:
            one = self.app.calls.upload(*([url], []) if name == "add" else ([], [url]))
            super().ask(one)
        if parts:
            name, url = parts[0]
            call = self.app.calls.upload(*([url], []) if name == "add" else ([], [url]))
        return super().ask(call)

    def obey(self, case: HardCase, feed: str) -> None:
        super().obey(case, feed)
        super().obey(case, f"{feed}/second")


def test_changes_that_are_told_one_by_one_are_told() -> None:
    wrong, _ = wrong_with(nextcloud(), Piecemeal)
    assert wrong == {}


class Careless(Phone):
    """A phone whose app is wrong in one way, told by `wrong`."""

    wrong = ""

    def sync(self) -> None:
        self.kind = ""
        before = self.app.since
        try:
            super().sync()
        finally:
            if self.kind == "broken off" and self.wrong == "believes":
                self.app.since = before + 1

    def ask(self, call: Call[Any]) -> Any:
        app = self.app
        is_upload = call.request.method == "POST" and "episode" not in call.request.target
        sent = dict(app.queued)
        try:
            got = super().ask(call)
        except NoAnswer:
            self.kind = "broken off"
            if is_upload and self.wrong == "reverts":
                app.queued = {url: not is_added for url, is_added in sent.items()}
            raise
        except Wrong:
            if self.wrong == f"forgets {self.watch.exchanges[0].status}" and is_upload:
                app.queued = {}
            if self.wrong == "forgets plays":
                app.queued_actions = []
            raise
        if self.wrong == "reverts what is slow" and self.watch.exchanges[0].fault is Fault.SLOW:
            app.queued = {url: not is_added for url, is_added in sent.items()}
            raise NoAnswer("It took too long.")
        if isinstance(got, Changes):
            self.heed(got)
        if isinstance(got, Uploaded) and is_upload:
            if self.wrong == "repeats" and not got.update_urls:
                app.habits_queue = sent
            if self.wrong == "insists" and got.update_urls:
                self.wrong = ""  # once is enough
                app.corrected = {old: True for old, _ in got.update_urls}
        return got

    def heed(self, got: Changes) -> None:
        app = self.app
        if self.wrong == "adds back":
            theirs = [url for url in got.remove if "phone.example" not in url]
            app.queued |= dict.fromkeys(theirs if not got.add else [], True)
        if self.wrong == "adds its own back":
            app.queued |= {url: True for url in got.remove if "phone.example" in url}
        if self.wrong == "echoes":
            app.queued |= dict.fromkeys(got.remove if not got.add else [], False)
        if self.wrong == "moves back" and got.remove and got.add:
            self.wrong = ""  # once is enough
            app.queued |= dict.fromkeys(got.add, False)
        if self.wrong == "repeats":
            app.queued |= app.__dict__.pop("habits_queue", {})
        app.queued |= app.__dict__.pop("corrected", {})
        if self.wrong == "a second late":
            object.__setattr__(got, "timestamp", got.timestamp + 1)


class Stubborn(Phone):
    """A phone whose app shows a cookie for good."""

    signs_in_again = False


class Careful(StrictApp):
    """An app of the Open Podcast API that is wrong in one way, told by `wrong`."""

    wrong = ""

    def dialogue(self) -> Any:
        sync, answer = super().dialogue(), None
        with suppress(StopIteration):
            while True:
                answer = yield sync.send(answer)
                if isinstance(answer, Page) and self.wrong == "counts one page":
                    answer = replace(answer, next="")
                if isinstance(answer, Page) and self.wrong == "ignores the epoch":
                    answer = replace(answer, epoch="")

    def _take(self, entry: Entry) -> None:
        url, _ = self.entries.get(entry["guid"], ("", False))
        is_told = "new_guid" in entry and url.startswith("https://feeds.example")
        is_known = is_told and entry["new_guid"] in self.entries
        if is_told and self.wrong == ("removes the merged" if is_known else "adds the renamed"):
            self.queued.append((url, not is_known))
            if is_known:
                self.entries[f"{entry['guid']}"] = (url, True)
                return
        super()._take(entry)


class Big(Careless):
    """A phone whose app sends the same again if it is too large."""

    splits = False


MEANT = {
    "forgets 503": "a_change_that_meets_503_is_sent_again",
    "forgets 429": "a_change_that_meets_429_is_sent_again",
    "forgets 431": "a_change_that_meets_431_is_sent_again",
    "forgets 301": "a_change_that_is_redirected_is_not_lost",
    "adds its own back": "a_removal_that_comes_late_is_followed",
    "reverts what is slow": "a_change_whose_reply_is_slow_is_not_reverted",
    "forgets plays": "a_play_that_meets_503_is_sent_again",
    "reverts": "a_change_whose_reply_is_lost_is_not_reverted",
    "believes": "a_reply_that_breaks_off_is_not_believed",
    "adds back": "a_feed_removed_elsewhere_is_not_added_back",
    "echoes": "a_removal_told_is_not_sent_as_its_own",
    "moves back": "a_moved_feed_is_followed",
    "repeats": "what_was_accepted_is_not_sent_again",
    "insists": "a_corrected_url_is_taken",
    "a second late": "an_upload_in_the_same_second_is_asked_for",
}


@pytest.mark.parametrize("how", MEANT)
def test_exactly_the_case_that_is_meant_notices(how: str) -> None:
    phone = type(how, (Careless,), {"wrong": how})
    wrong, _ = wrong_with(nextcloud(), phone)
    assert set(wrong) == {MEANT[how]}, wrong


MEANT_FOR_STRICT = {
    "counts one page": "every_page_is_requested",
    "ignores the epoch": "a_restore_is_noticed",
    "adds the renamed": "a_renamed_guid_is_followed",
    "removes the merged": "a_merge_is_followed",
}


@pytest.mark.parametrize("how", MEANT_FOR_STRICT)
def test_exactly_the_case_that_is_meant_notices_a_strict_app(how: str) -> None:
    app = Careful(OpenPodcastCalls("/v1"), WORLD)
    app.wrong = how
    wrong, _ = wrong_with(app)
    assert set(wrong) == {MEANT_FOR_STRICT[how]}, wrong


@pytest.mark.parametrize(
    ("app", "phone", "name"),
    [
        (gpodder, Stubborn, "an_ended_session_begins_again"),
        (nextcloud, Big, "an_upload_that_meets_413_is_sent_in_parts"),
    ],
)
def test_an_app_that_only_repeats_what_was_refused_is_noticed(
    app: Any, phone: Any, name: str
) -> None:
    wrong, _ = wrong_with(app(), phone, only=name)
    assert set(wrong) == {name}


def test_each_case_has_an_app_that_fails_it() -> None:
    known = {*MEANT.values(), *MEANT_FOR_STRICT.values()}
    known |= {"an_ended_session_begins_again", "an_upload_that_meets_413_is_sent_in_parts"}
    assert known == {case.name for case in all_hard_cases()}
