"""The page of what was played: positions of all apps, and marking episodes as finished."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

import pytest
from feedkeep_process import FeedkeepProcess
from known_feeds import know, picture, png
from page_client import PASSWORD, PageClient, Shown, app_of, guid_of, plain, signed_in
from playwright.sync_api import expect
from visitor import PHONE

from feedkeep.model import ActionDecision, ActionSnapshot, EpisodeAction, replace
from feedkeep.rules.episode_actions import MAX_STORED, SentAction, judge
from feedkeep.web.listening import EPISODES_ON_A_PAGE

A, B = "https://a.played.example/feed", "https://b.played.example/feed"
GUID = guid_of(A)
MARK = "Mark as finished"


class App:
    """An app that uploads plays, and polls for those of others."""

    def __init__(self, process: FeedkeepProcess, name: str, device: str, user_agent: str) -> None:
        self.http = app_of(process, name, user_agent)
        self._name, self._device, self._since = name, device, 0
        self.http.post(f"/api/2/devices/{name}/{device}.json", json={"caption": device.title()})

    def play(self, *plays: dict[str, object]) -> None:
        path = f"/api/2/episodes/{self._name}/{self._device}.json"
        assert self.http.post(path, json=plays).status_code == 200

    def poll(self) -> list[dict[str, object]]:
        path = f"/api/2/episodes/{self._name}.json"
        told = self.http.get(path, params={"since": self._since}).json()
        self._since = told["timestamp"]
        return told["actions"]


def play(
    episode: str, position: int, total: int | None = 3_600, *, day: int = 1, podcast: str = A
) -> dict[str, object]:
    """Return a play of a day of January 2026, as an app uploads it."""
    url = episode if ":" in episode else f"https://cdn.example/{episode}.mp3?key=secret"
    done = datetime(2026, 1, day, tzinfo=UTC).replace(tzinfo=None).isoformat()
    numbers = {"position": position} | ({} if total is None else {"total": total})
    return {"podcast": podcast, "episode": url, "action": "play", "timestamp": done, **numbers}


@pytest.fixture
def apps(anna):
    """A phone and a desktop computer."""
    return [
        App(anna.process, anna.name, "pixel", "AntennaPod/3.5.0"),
        App(anna.process, anna.name, "desk", "Kasts/25.08 (KDE)"),
    ]


def rows(page: Shown) -> list[str]:
    """Return the text of each row, without its age."""
    (listed,) = re.findall(r'<ol class="plays">(.*?)</ol>', page.reply.text, re.DOTALL) or [""]
    found = re.findall(r"<li>.*?<div>(.*?)</div>", listed, re.DOTALL)
    return [re.sub(r" · (just now|\d+ \w+ ago)$", "", plain(one)) for one in found]


def mark(anna: PageClient, page: Shown) -> Shown:
    """Press "Mark as finished" of the first row that has it."""
    fields = {name: page.values(name)[0] for name in ("episode", "show", "before")}
    return anna.post("/listening/finished", fields)


def test_the_newest_play_of_each_episode_is_shown_with_its_app_and_device_latest_first(anna, apps):
    phone, desk = apps
    anna.add(A)
    anna.post(f"/feeds/{GUID}/label", {"title": "Anna's own title"})
    phone.play(play("one", 60, day=3), play("two", 3_575, day=2), play("three", 9, None, day=7))
    desk.play(play("one", 900, day=6), play("far", 6_000, 7_200, day=4, podcast=B))
    phone.play(play("one", 70, day=5))  # it was late, and supersedes nothing
    own = "Anna's own title"
    progress = [
        f"three.mp3 {own} 0:09 · AntennaPod on Pixel",
        f"one.mp3 {own} 15:00 of 60:00 · Kasts on Desk",
        "far.mp3 b.played.example/feed 1:40:00 of 2:00:00 · Kasts on Desk",
    ]
    finished = [f"two.mp3 {own} finished · AntennaPod on Pixel"]
    page = anna.get("/listening")
    assert rows(page) == progress
    assert "secret" not in page.reply.text
    assert page.reply.text.count(f'href="/feeds/{GUID}"') == 2, "the other podcast has no page"
    assert rows(anna.get("/listening?show=finished")) == finished
    assert rows(anna.get("/listening?show=all")) == progress + finished
    assert rows(anna.get("/listening?show=<b>&before=x.1")) == progress
    anna.post(f"/feeds/{GUID}/delete")
    page = anna.get("/listening")
    assert GUID not in re.findall(r"/feeds/([^/\"]+)", page.reply.text)
    assert "a.played.example/feed 15:00 of 60:00" in page.text


def test_an_episode_marked_as_finished_is_sent_to_apps_once_and_moves_to_the_others(anna, apps):
    phone, desk = apps
    desk.play(play("one", 60, 3_700), play("endless", 5, None))
    phone.play(play("one", 90, day=2))
    phone.poll()
    page = anna.get("/listening")
    assert page.reply.text.count(MARK) == 1, "without a length, there is no end"
    done = mark(anna, page)
    assert done.note == "Marked one.mp3 as finished. Your apps get this with their next sync."
    assert done.path == "/listening"
    assert rows(done) == ["endless.mp3 a.played.example/feed 0:05 · Kasts on Desk"]
    assert mark(anna, page).status == 200, "pressed in another window, too"
    whose = ["one.mp3 a.played.example/feed finished · You, in a browser"]
    assert rows(anna.get("/listening?show=finished")) == whose
    for app in (phone, desk):
        (told,) = [one for one in app.poll() if "one" in str(one["episode"])]
        assert (told["action"], told["position"], told["total"]) == ("play", 3_700, 3_700)
        assert "device" not in told
    assert phone.poll() == []

    async def progress(service):
        account = await service.accounts.named(anna.name)
        tokens = await service.store.tokens.of(account.id)
        return {one.own_actions for one in tokens if one.purpose == "pages"}

    assert anna.process.use(progress) == {()}, "a browser polls for nothing"


def test_an_episode_of_ones_own_with_a_length_and_no_other_is_marked(feedkeep, anna, apps):
    apps[0].play(play("endless", 5, None), play("one", 5))
    endless, one = (f"{GUID}.{stored(play(n, 5)).key[:10].hex()}" for n in ("endless", "one"))
    unknown = ["", "x", f"{GUID}.", f"{GUID}.{'0' * 20}", f"{GUID}.{'0' * 22}", f"x.{'0' * 20}"]
    ben, _ = signed_in(feedkeep)
    for person, episode in ((ben, one), *((anna, other) for other in [*unknown, endless])):
        reply = person.bare_post("/listening/finished", {"episode": episode})
        assert reply.status_code == 404, episode
    assert len(rows(anna.get("/listening"))) == 2
    for sent, query in (
        ({}, ""),
        ({"show": "all", "before": "7.8"}, "?show=all&before=7.8"),
        ({"show": "<b>", "before": "7.8&x"}, ""),
        ({"show": "finished", "before": "7" * 5_000}, "?show=finished"),
    ):
        reply = anna.bare_post("/listening/finished", {"episode": one, **sent})
        assert reply.headers["Location"] == f"/listening{query}"  # back to the same page


def stored(sent: dict[str, object]) -> EpisodeAction:
    judged = judge(SentAction(A, str(sent["episode"]), "", "play", 1, 0, 5, 9))
    assert isinstance(judged, EpisodeAction)
    return judged


def test_a_page_has_fifty_episodes_and_leads_to_those_before(anna, apps):
    count = 2 * EPISODES_ON_A_PAGE + 1
    apps[0].play(*(play(f"e{number:03}", 60) for number in range(count)))  # at one second
    page, seen = anna.get("/listening"), []
    for size in (EPISODES_ON_A_PAGE, EPISODES_ON_A_PAGE, 1):
        assert len(rows(page)) == size
        seen += rows(page)
        links = re.findall(r'href="(/listening\?before=[^"]+)"', page.reply.text)
        assert bool(links) is (len(seen) < count)
        page = anna.get(links[0]) if links else page
    assert seen == sorted(set(seen), reverse=True)
    assert len(seen) == count
    done = mark(anna, page)  # the last episode of the last page
    assert "Nothing was played before that." in done.text
    assert "e000.mp3" in done.note
    assert rows(anna.get("/listening"))[0].startswith("e100.mp3")


@pytest.mark.parametrize("show", ["", "finished", "all"])
def test_a_page_without_episodes_says_what_to_do(anna, apps, show):
    page = anna.get(f"/listening?show={show}")
    assert "Play something in an app that syncs episodes." in page.text
    assert 'href="/apps/connect"' in page.reply.text
    apps[0].play({**play("one", 1), "action": "download"})
    assert "Nothing here yet" in anna.get(f"/listening?show={show}").text
    apps[0].play(play("one", 3_600 if show == "" else 60))
    page = anna.get(f"/listening?show={show}")
    texts = {"": "No episode is in progress.", "finished": "No episode is finished yet."}
    assert texts.get(show, "one.mp3") in page.text
    assert "Nothing here yet" not in page.text


def test_an_account_without_room_is_told_why_an_episode_cannot_be_marked(anna, apps):
    apps[0].play(play("one", 60), play("two", 60, day=2))

    async def fill(service):
        account = await service.accounts.named(anna.name)
        decide = partial(_full, added=MAX_STORED - 2)
        await service.store.episode_actions.record(account.id, [stored(play("x", 1))], decide, max)

    anna.process.use(fill)
    page = mark(anna, anna.get("/listening?show=all"))
    assert page.status == 400
    assert "this one has no room for all of these" in page.text
    assert len(rows(page)) == 2
    assert "All" in re.findall(r'aria-current="page">([^<]+)', page.reply.text)


def _full(snapshot: ActionSnapshot, sent: Sequence[EpisodeAction], added: int) -> ActionDecision:
    full = replace(sent[0], is_superseded=True, revision=snapshot.last_stamp + 1)
    return ActionDecision([full], full.revision, added=added)


HOSTILE = [
    "javascript:alert(1)//x.mp3",
    "https://x.example/%3Cscript%3Ealert(1)%3C%2Fscript%3E.mp3",
    "data:text/html,<script>alert(1)</script>",
    "https://x.example/\u202egnp.mp3?\u202e",
    "https://x.example/%00%0A%E2%80%AE%FF.mp3",
    "https://x.example/" + "a" * 8_000,
    "https://[/%2e%2e/",
    "x",
]


def test_what_apps_send_is_shown_as_a_short_text_and_leads_nowhere(anna, apps):
    apps[0].play(
        *(play(url if ":" in url else "x", 60, day=day) for day, url in enumerate(HOSTILE, 1))
    )
    page = anna.get("/listening")
    assert len(rows(page)) == len(HOSTILE)
    assert max(map(len, rows(page))) < 300
    assert not re.search('<script>a|javascript:[^/]*"|href="data|\u202e|\0', page.reply.text)
    names = re.findall(r"<strong [^>]*>(.*?)</strong>", page.reply.text)
    assert all(names)


@pytest.mark.parametrize("has_script", [True, False])
def test_a_person_sees_how_far_they_are_and_marks_an_episode_as_finished(
    feedkeep, visit, has_script
):
    name = feedkeep.new_account(PASSWORD)
    anna = visit(feedkeep, has_script=has_script, width=PHONE).is_let_in(name, A)
    know(feedkeep, A, "A podcast", shown=picture(png(9, 99, 199)))
    anna.follow("Listening")
    anna.sees_heading("Nothing here yet")
    if has_script:
        anna.looks_well()
    phone = App(feedkeep, name, "pixel", "AntennaPod/3.5.0")
    phone.play(
        *(play(f"episode-{day}", 60 * day, 3_600, day=day) for day in range(1, 21)),
        play(f"https://cdn.example/{'فيديو' * 20}", 1, day=30, podcast=f"{B}/{'x' * 90}"),
    )
    anna.follow("Listening")
    anna.open("/listening")
    anna.has_pictures(5)
    item = anna.page.get_by_role("listitem").filter(has_text="episode-3.mp3")
    expect(item).to_contain_text("3:00 of 60:00 · AntennaPod on Pixel")
    expect(item.locator("progress")).to_have_js_property("position", 0.05)
    expect(item.get_by_role("link", name="A podcast")).to_be_visible()
    button = item.get_by_role("button", name=MARK)
    expect(button).to_have_accessible_description("episode-3.mp3")
    if has_script:
        anna.looks_well()
        anna.page.set_viewport_size({"width": PHONE, "height": 800})
        anna.tab_to(button)
        top = anna.page.evaluate("scrollY")
        anna.page.keyboard.press("Enter")
    else:
        button.click()
    anna.reads("Marked episode-3.mp3 as finished.")
    expect(item).to_have_count(0)
    if has_script:
        assert anna.page.evaluate("scrollY") == top > 0
        anna.looks_well()
    anna.follow("Finished")
    expect(item).to_contain_text("finished · You, in a browser")
    anna.follow("A podcast")
    anna.sees_heading("A podcast")
    anna.page.go_back()
    anna.follow("All")
    expect(anna.page.locator(".plays > li")).to_have_count(21)
    (told,) = [one for one in phone.poll() if "episode-3." in str(one["episode"])]
    assert told["position"] == told["total"] == 3_600
