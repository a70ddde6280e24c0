"""Titles and pictures of feeds as a person sees them, with and without a script."""

import pytest
from forms import first_of, in_the_long_form
from known_feeds import DAY_US, know, picture, png
from page_client import place_of
from playwright.sync_api import expect
from visitor import NARROW, WIDE

from feedkeep.model import Episode, Failure, Stamp
from feedkeep.rules.episodes import digest_of_file, digest_of_guid
from feedkeep.runtime import wall_clock

URL = "https://of-a-browser.example"
RADIO, NEWS, OLD, GONE, EVIL, MOVES, TALKS = (
    f"{URL}/{name}" for name in ("radio", "news", "old", "gone", "evil", "moves", "talks")
)
RADIO_TITLE = "The Night Radio"
EVIL_TITLE = "\u202e\u2066<img src=x onerror=alert(1)>" + "W" * 400
LONG = "The long story of a speaker who said very much and never came to an end of it. " * 20


@pytest.fixture(scope="module", autouse=True)
def _known(service):
    """Feeds of every kind, which the service knows."""
    failing = {
        "failing": Stamp(wall_clock.now() - 9 * DAY_US), "failures": 9, "failure": Failure.GONE,
        "picture_url": "https://cdn.example/x.jpg", "picture_looked": wall_clock.now(),
    }  # fmt: skip
    know(
        service, RADIO, "The Night Radio", shown=picture(png(180, 60, 40)), author="Anna & Ben",
        description=LONG, site_url="https://radio.example/" + "a-long-path" * 9, language="de",
    )  # fmt: skip
    know(service, NEWS, "חדשות הערב: News", shown=picture(png(20, 90, 160)))
    know(service, OLD, "The Night Radio", new_feed_url=RADIO)
    know(service, GONE, "A podcast that is gone", fields=failing)
    know(service, EVIL, EVIL_TITLE, description=EVIL_TITLE, author=EVIL_TITLE, language="x" * 99)
    know(service, TALKS, "Long Talks", shown=picture(png(9, 90, 60)), episodes=EPISODES)
    know(service, MOVES, "A show that moves", new_feed_url=f"{URL}/elsewhere" + "/long" * 30)


EPISODES = [
    Episode("The last one, with a guest who never came to an end of what he wanted to say" * 2,
            Stamp(wall_clock.now() - 3 * DAY_US), 3_600, "https://talks.example/2", "",
            digest_of_file(f"{URL}/2.mp3")),
    Episode("פרק ראשון", Stamp(wall_clock.now() - 20 * DAY_US), 3_600, "", digest_of_guid("g1")),
    Episode("A trailer", None, 75),
]  # fmt: skip


@pytest.mark.parametrize("has_script", first_of(True, False))
def test_feeds_are_found_by_title_and_their_pictures_come_from_here(
    service, visit, name, has_script
):
    visitor = visit(service, has_script=has_script).is_let_in(name, RADIO, NEWS, GONE)
    visitor.has_feeds(["A podcast that is gone", "The Night Radio", "חדשות הערב: News"])
    if has_script:
        named = "Unsubscribe from The Night Radio"
        button = visitor.page.get_by_role("button", name=named, exact=True)
        expect(button).to_have_text("Unsubscribe")
        visitor.has_pictures(2)
    search = visitor.page.get_by_label(visitor.say("Search in these feeds"))
    search.fill("níght RADIO")
    if not has_script:
        visitor.press("Show")
    rows = visitor.page.locator("#feeds").get_by_role("link").locator("visible=true")
    expect(rows).to_have_text(["The Night Radio"])
    visitor.open("/?order=added")
    visitor.page.get_by_role("link", name="The Night Radio").click()
    visitor.sees_heading("The Night Radio")


PLACES = [
    *("/", "/?show=failing", "/?show=twice", "/changes"),
    *map(place_of, (RADIO, NEWS, OLD, GONE, EVIL, MOVES)),
]


@in_the_long_form
@pytest.mark.parametrize("language", ["en", "de", "fr", "es"])
def test_pages_with_known_feeds_fit_and_are_accessible(service, visit, name, language):
    urls = (RADIO, NEWS, OLD, GONE, EVIL, MOVES, f"{URL}/never-looked-at")
    visitor = visit(service, language=language).is_let_in(name, *urls)
    for path in PLACES:
        visitor.open(path)
        visitor.looks_well()


@pytest.mark.parametrize("width", first_of(NARROW, WIDE))
def test_a_title_that_turns_its_direction_turns_nothing_else(service, visit, name, width):
    visitor = visit(service, width=width).is_let_in(name, RADIO, NEWS, EVIL)
    lefts = visitor.page.evaluate(
        """() => [...document.querySelectorAll("#feeds a, #feeds small")].map((element) => {
          const range = document.createRange();
          range.selectNodeContents(element);
          return Math.round(range.getBoundingClientRect().left);
        })"""
    )
    assert len(set(lefts)) == 1, lefts
    heights = visitor.page.evaluate(
        "() => [...document.querySelectorAll('#feeds li')].map((row) => row.offsetHeight)"
    )
    assert max(heights) < 100


@pytest.mark.parametrize("language", first_of("de", "en"))
def test_a_person_sees_the_latest_episodes_and_how_far_they_were_played(
    service, visit, name, language
):
    plays = [
        {"podcast": TALKS, "episode": f"{URL}/{number}.mp3", "guid": f"g{number}", "action": "play",
         "device": "phone", "started": 0, "position": position, "total": 3_600}
        for number, position in ((1, 3_600), (2, 900))
    ]  # fmt: skip
    with service.client(name) as app:
        assert app.post(f"/api/2/episodes/{name}.json", json=plays).status_code == 200
    visitor = visit(service, language=language).is_let_in(name, TALKS, RADIO)
    ago = visitor.words.ago(EPISODES[0].published, wall_clock.now())
    row = visitor.page.locator("#feeds li").filter(has_text="Long Talks")
    expect(row.locator("small")).to_contain_text(f"{ago}: The last one, with a guest")
    expect(row.get_by_title("of-a-browser.example")).to_be_visible()
    # It is one line, whose end is cut.
    title = row.locator("bdi")
    assert title.evaluate("it => it.scrollWidth > it.clientWidth && it.offsetHeight < 30")
    visitor.looks_well()
    search = visitor.page.get_by_label(visitor.say("Search in these feeds"))
    rows = visitor.page.locator("#feeds").get_by_role("link").locator("visible=true")
    for words, found in (("GUEST", ["Long Talks"]), ("of-a-browser", ["Long Talks", RADIO_TITLE])):
        search.fill(words)
        expect(rows).to_have_text(found)
    visitor.page.get_by_role("link", name="Long Talks").click()
    visitor.sees_heading("Latest episodes")
    episodes = visitor.page.locator(".episodes li")
    expect(episodes).to_have_count(3)
    begun = visitor.say("%(position)s of %(total)s", position="15:00", total="60:00")
    expect(episodes.nth(0)).to_contain_text(begun)
    expect(episodes.nth(0).get_by_role("link")).to_have_attribute("href", "https://talks.example/2")
    expect(episodes.nth(1)).to_contain_text(visitor.say("Finished"))
    expect(episodes.nth(2)).to_contain_text("1:15")
    visitor.looks_well()
    visitor.open("/listening?show=all")
    expect(visitor.page.locator(".plays strong a")).to_have_count(1)
    visitor.looks_well()
