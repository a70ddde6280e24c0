"""What is known of feeds on the pages: titles, pictures, trouble, moves, what may be twice."""

import re
from html import unescape
from pathlib import Path

import pytest
from feedkeep_process import FeedkeepProcess
from known_feeds import DAY_US, know, picture, png, subscribe_unchecked
from page_client import PASSWORD, PageClient, signed_in

from feedkeep.model import Episode, Failure, Sighting, Stamp
from feedkeep.rules.episodes import digest_of_file, digest_of_guid
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.runtime import wall_clock

RED, BLUE = picture(png(200, 30, 30)), picture(png(20, 40, 200), "image/webp")
LONG_AGO = Stamp(wall_clock.now() - 9 * DAY_US)


@pytest.fixture
def anna(feedkeep):
    return signed_in(feedkeep)[0]


_numbers = iter(range(10_000))


@pytest.fixture
def url():
    """The address of a feed that no other test has."""
    return f"https://known-{next(_numbers)}.example/feed"


def guid(url: str) -> str:
    return str(parse_feed_url(url).guid)


def add(anna: PageClient, *urls: str) -> None:
    assert anna.post("/feeds/add", {"urls": "\r\n".join(urls)}).note.startswith("Added")


def failing(why: Failure = Failure.NO_CONNECTION, **fields: object) -> dict[str, object]:
    return {"failing": LONG_AGO, "failures": 4, "failure": why, **fields}


def titles(anna: PageClient, path: str = "/") -> list[str]:
    found = re.findall(r"<a id=f\d+ [^>]*>([^<]*)</a>", anna.get(path).reply.text)
    return [unescape(title) for title in found]


def fields_of_form(page: str, action: str) -> dict[str, str]:
    """Return the hidden fields of the form that leads to a path."""
    form = page.partition(f'action="{action}"')[2].partition("</form>")[0]
    assert form, action
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))


def test_a_feed_is_listed_by_its_title_with_its_host_and_its_picture(anna, url):
    know(anna.process, url, "The Night Radio", shown=RED)
    add(anna, url)
    page = anna.get("/")
    host = url.split("/")[2]
    assert f"The Night Radio {host} ·" in page.text
    assert f'<img src="/pictures/{guid(url)}?{RED.digest[:8]}" loading=lazy' in page.reply.text
    assert "aria-hidden=true>" not in page.reply.text  # no letter in its place


def test_a_feed_without_a_picture_keeps_the_letter_and_an_unread_one_its_address(anna, url):
    know(anna.process, url, "Über uns")
    unknown = f"{url}/2"
    add(anna, url, unknown)
    page = anna.get("/")
    assert "<img src=/pictures" not in page.reply.text
    assert "aria-hidden=true>Ü</i>" in page.reply.text
    assert titles(anna) == [unknown.removeprefix("https://"), "Über uns"]


def test_an_address_that_is_only_ones_own_is_not_shown_in_the_list(anna):
    own = "https://members.example/0a1B2c3D4e5F6a7B8c9D0e1F"
    page = anna.post("/feeds/add", {"urls": own})
    assert "Added members.example." in page.note
    assert titles(anna) == ["members.example"]
    assert "0a1B2c3D" not in anna.get("/").reply.text
    assert own in anna.get(f"/feeds/{guid(own)}").text


def test_that_an_address_of_ones_own_is_not_fetched_is_told(asking):
    anna, _ = signed_in(asking)
    own = "https://members.example/0a1B2c3D4e5F6a7B8c9D0e1F"
    add(anna, own)
    feed = anna.get(f"/feeds/{guid(own)}")
    assert "Nothing: this address looks private to you." in feed.text


def test_a_person_can_have_a_feed_looked_at_whose_address_is_only_their_own(asking, url):
    anna, _ = signed_in(asking)
    own = f"{url}/0a1B2c3D4e5F6a7B8c9D0e1F"
    add(anna, url, own)
    path = f"/feeds/{guid(own)}"
    assert "Fetch it anyway" not in anna.get(f"/feeds/{guid(url)}").text
    assert "Fetch it anyway" in anna.get(path).text
    for _ in range(2):  # the second click changes nothing
        permitted = anna.post(f"{path}/look")
        assert "Its title and picture will be fetched soon." in permitted.text
        assert "Fetch it anyway" not in permitted.text
    anna.post("/feeds/unsubscribe", {"only": guid(own)})
    assert "Fetch it anyway" not in anna.get(path).text


def test_feeds_are_ordered_and_searched_by_title(anna, url):
    urls = [f"{url}/{number}" for number in range(3)]
    for one, title in zip(urls, ["zebra", "Äpfel", "Birnen & Käse"], strict=True):
        know(anna.process, one, title)
    add(anna, *urls)
    assert titles(anna) == ["Äpfel", "Birnen & Käse", "zebra"]
    assert titles(anna, "/?order=added") == ["Birnen & Käse", "Äpfel", "zebra"]
    assert titles(anna, "/?q=käse+birnen") == ["Birnen & Käse"]
    assert len(titles(anna, f"/?q={url.split('/')[2]}")) == 3


def test_when_the_last_episode_came_is_told_of_silent_feeds_or_of_all_and_on_the_page(anna, url):
    silent, lively = f"{url}/1", f"{url}/2"
    know(anna.process, silent, "Silent", newest=Stamp(1_577_836_800_000_000))
    know(anna.process, lively, "Lively", newest=Stamp(wall_clock.now()))
    add(anna, silent, lively)
    page = anna.get("/")
    assert "last episode Jan 1, 2020" in page.text
    assert page.text.count("last episode") == 1
    assert anna.get("/?order=episode").text.count("last episode") == 2
    assert titles(anna, "/?order=episode") == ["Lively", "Silent"]
    assert titles(anna, "/?order=silent") == ["Silent", "Lively"]
    assert "Latest episode Jan 1, 2020" in anna.get(f"/feeds/{guid(silent)}").text


def test_the_latest_episode_stands_in_the_list_where_the_host_stood(anna, url):
    days_ago = Stamp(wall_clock.now() - 3 * DAY_US)
    know(anna.process, f"{url}/1", "Radio", episodes=[Episode("Of the week", days_ago)])
    know(anna.process, f"{url}/2", "Undated", episodes=[Episode("Of some day")])
    know(anna.process, f"{url}/3", "None")
    add(anna, *(f"{url}/{number}" for number in range(1, 4)))
    rows = anna.get("/").reply.text.split("<li>")
    host = url.split("/")[2]
    (radio,) = [row for row in rows if "Radio" in row]
    assert f'<small><span title="{host}">3 days ago: <bdi>Of the week</bdi></span></small>' in radio
    (undated,) = [row for row in rows if "Undated" in row]
    assert f'<small><span title="{host}"><bdi>Of some day</bdi></span></small>' in undated
    (none,) = [row for row in rows if ">None<" in row]
    assert f"<small><span>{host}</span> · " in none
    assert "last episode" not in anna.get("/?order=episode").text
    added = anna.get("/?order=added").reply.text
    assert re.search(r"Of the week</bdi></span> · since [A-Z][a-z]{2} \d+, \d{4}</small>", added)
    assert titles(anna, "/?q=WEEK") == ["Radio"]
    anna.post("/feeds/unsubscribe", {"only": guid(f"{url}/1")})
    assert "Of the week" not in anna.get("/?show=unsubscribed").text


def test_the_page_of_a_feed_has_its_latest_episodes_with_their_states(feedkeep, url):
    anna, name = signed_in(feedkeep)
    day = Stamp(wall_clock.now() - DAY_US)
    told = [
        Episode("Begun", day, 3_600, "https://show.example/1", "", digest_of_file(f"{url}/1.mp3")),
        Episode("Finished one", day, None, "", digest_of_guid("g2"), ""),
        Episode("Of no length", None, None, "javascript:x", "", digest_of_file(f"{url}/3.mp3")),
        Episode("Not played", None, 754),
    ]
    know(anna.process, url, "Radio", episodes=told)
    add(anna, url)
    plays = [("1", 900, 0, None), ("2", 3_590, 3_600, "g2"), ("3", 75, 0, None)]
    actions = [
        {
            "podcast": url, "episode": f"{url}/{file}.mp3", "action": "play", "device": "phone",
            "position": position, "started": 0, "total": total, "guid": of_guid,
        }
        for file, position, total, of_guid in plays
    ]  # fmt: skip
    with feedkeep.client(name) as app:
        assert app.post(f"/api/2/episodes/{name}.json", json=actions).status_code == 200
    page = anna.get(f"/feeds/{guid(url)}")
    assert "Latest episodes Begun 1 day ago 15:00 of 60:00" in page.text
    assert (
        "Finished one 1 day ago Finished Of no length Stopped at 1:15 Not played 12:34" in page.text
    )
    for shown in (page, anna.get("/listening?show=all")):
        links = re.findall(r'<a href="(https://show[^"]*)" rel="([^"]*)"', shown.reply.text)
        assert links == [("https://show.example/1", "noopener noreferrer")]
    assert "javascript:" not in page.reply.text
    assert "Latest episode " not in page.text


def test_what_a_look_finds_later_is_shown_at_once_and_then_until_the_next_look(anna, url):
    add(anna, url)
    assert titles(anna) == [url.removeprefix("https://")]
    know(anna.process, url, "First", fields={"next_fetch": Stamp(1)})
    assert titles(anna) == ["First"]
    know(anna.process, url, "Second")
    assert titles(anna) == ["Second"]
    assert titles(anna) == ["Second"]


def test_a_picture_comes_from_here_and_is_kept_as_long_as_it_is_the_same(anna, url):
    know(anna.process, url, "Radio", shown=BLUE)
    add(anna, url)
    reply = anna.http.get(f"/pictures/{guid(url)}?{BLUE.digest[:8]}")
    assert (reply.status_code, reply.content) == (200, BLUE.data)
    assert reply.headers["Content-Type"] == "image/webp"
    assert reply.headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    for query in ("", "?", "?0000"):
        reply = anna.http.get(f"/pictures/{guid(url)}{query}")
        assert reply.status_code == 200
        assert reply.headers["Cache-Control"] == "private, no-cache"


def test_a_picture_needs_a_session_and_a_feed_in_the_own_list(anna, url):
    know(anna.process, url, "Radio", shown=RED)
    path = f"/pictures/{guid(url)}?{RED.digest[:8]}"
    assert anna.get(path).status == 404  # another account's feed is as one that no account has
    add(anna, url)
    assert anna.get(path).status == 200
    other, _ = signed_in(anna.process)
    assert other.get(path).status == 404
    assert PageClient(anna.process).get(path).path == "/sign-in"
    with anna.process.client(anna.process.new_account()) as app:
        assert app.get(path).status_code == 303
    anna.post(f"/feeds/{guid(url)}/delete")
    assert anna.get(path).status == 404


@pytest.mark.parametrize("is_known", [False, True])
def test_a_feed_without_a_picture_has_none(anna, url, is_known):
    if is_known:
        know(anna.process, url, "Radio")
    add(anna, url)
    assert anna.get(f"/pictures/{guid(url)}").status == 404
    assert anna.get("/pictures/x").status == 404


def test_the_page_of_a_feed_tells_what_is_known_and_what_was_fetched_when(anna, url):
    about = {
        "description": "All about <b>radio</b>", "site_url": "https://radio.example/?a=1&b=2",
        "language": "de-AT", "author": "Anna & Ben",
    }  # fmt: skip
    fetched = {"picture_url": "https://cdn.example/x.jpg", "picture_looked": Stamp(1)}
    add(anna, url)
    know(anna.process, url, "The Night Radio", shown=RED, fields=fetched, **about)
    page = anna.get(f"/feeds/{guid(url)}")
    link = '<a href="https://radio.example/?a=1&amp;b=2" rel="noopener noreferrer">'
    assert link in page.reply.text
    for text in (
        "The Night Radio", "All about <b>radio</b>", "Anna & Ben", "German (de-AT)",
        "The feed itself, last on", "Its picture from cdn.example, last on Jan 1, 1970",
    ):  # fmt: skip
        assert text in page.text
    assert "<title>The Night Radio" in page.reply.text
    assert f'<img src="/pictures/{guid(url)}?{RED.digest[:8]}"' in page.reply.text
    assert "Asked in vain" not in page.text


@pytest.mark.parametrize("site", ["javascript:alert(1)", "data:text/html,x", "https://a b"])
def test_a_web_site_that_is_none_is_no_link(anna, url, site):
    know(anna.process, url, "Radio", site_url=site, language="!")
    add(anna, url)
    page = anna.get(f"/feeds/{guid(url)}")
    assert site not in page.reply.text
    assert "Web site" not in page.text
    assert "Language !" in page.text


def test_the_words_of_a_hostile_feed_are_text_everywhere(anna, url):
    evil = "\u202e</a><script>alert(1)</script>\"'&" + "W" * 500
    episodes = [Episode(evil)]
    told = {"description": evil, "author": evil, "language": evil}
    know(anna.process, url, evil, episodes=episodes, **told)
    note = anna.post("/feeds/add", {"urls": url})
    shown = "</a><script>alert(1)</script>\"'&"
    assert f"Added {shown}" in note.note
    for path in ("/", f"/feeds/{guid(url)}", "/changes"):
        page = anna.get(path)
        assert "<script>alert" not in page.reply.text, path
        assert "\u202e" not in page.reply.text
        assert shown in page.text
        assert "W" * 200 not in page.reply.text.partition("about")[0]
    assert "<bdi>&lt;/a&gt;" in anna.get("/changes").reply.text


# C3.18
def test_pages_mark_a_feed_with_an_impossible_host_until_it_moves(feedkeep, url):
    anna, name = signed_in(feedkeep)
    impossible = url.replace("https://", "https://feeds..")
    sentence = "Your apps do not get this feed"
    assert "Invalid host" in anna.post("/feeds/add", {"urls": impossible}).text
    subscribe_unchecked(feedkeep, name, impossible)
    assert "not in your apps" in anna.get("/").text
    place = f"/feeds/{guid(impossible)}"
    assert sentence in anna.get(place).text
    assert "Invalid host" in anna.post(f"{place}/move", {"new_url": f"{impossible}/x"}).text
    assert sentence not in anna.post(f"{place}/move", {"new_url": url}).text
    assert "not in your apps" not in anna.get("/").text


def test_a_feed_that_failed_for_long_is_told_of_and_found(anna, url):
    fine, lately = f"{url}/fine", f"{url}/lately"
    add(anna, url, fine, lately)
    know(anna.process, url, "Gone", fields=failing(Failure.GONE, answered=Stamp(1)))
    know(anna.process, fine, "Fine")
    know(
        anna.process, lately, "Lately",
        fields={"failing": wall_clock.now(), "failures": 1, "failure": Failure.TOO_SLOW},
    )  # fmt: skip
    home = anna.get("/")
    assert "1 can't be read" in home.text
    assert home.text.count("can't be read") == 2
    assert titles(anna, "/?show=failing") == ["Gone"]
    page = anna.get(f"/feeds/{guid(url)}")
    assert "It hasn't been readable since" in page.text
    assert "Its server says that it is gone permanently." in page.text
    assert "The feed itself, last on Jan 1, 1970" in page.text
    assert "Last attempt failed:" in page.text
    for other in (fine, lately):
        assert "It cannot be read" not in anna.get(f"/feeds/{guid(other)}").text
    anna.post("/feeds/unsubscribe", {"only": guid(url), "show": "failing"})
    assert "can't be read" not in anna.get("/").text
    assert "can't be read" not in anna.get(f"/feeds/{guid(url)}").text
    assert "All your feeds can be read." in anna.get("/?show=failing").text


def test_a_person_who_unsubscribes_from_what_fails_stays_with_what_fails(anna, url):
    urls = [url, f"{url}/2"]
    add(anna, *urls)
    for one in urls:
        know(anna.process, one, fields=failing())
    page = anna.post("/feeds/unsubscribe", {"only": guid(url), "show": "failing"})
    assert str(page.reply.url).endswith("/?show=failing")
    assert page.values("feed") == [guid(urls[1])]
    page = anna.post("/feeds/unsubscribe", {"only": guid(urls[1]), "show": "/evil.example"})
    assert not page.reply.url.query


def test_a_feed_that_says_where_it_is_now_moves_with_one_click_and_back(anna, url):
    new = url.replace("known", "new")
    know(anna.process, url, "Moving Show", new_feed_url=new)
    add(anna, url)
    page = anna.get(f"/feeds/{guid(url)}")
    assert f"It says that it has a new address: {new}" in page.text
    action = f"/feeds/{guid(url)}/move"
    page = anna.post(action, fields_of_form(page.reply.text, action))
    assert "The feed has its new address." in page.note
    assert new in page.text
    assert "It says that" not in page.text
    history = anna.get("/changes")
    assert f"Moved Moving Show to {new.removeprefix('https://')}" in history.text
    stamps = page.values("stamps")[0]
    page = anna.post("/changes/undo", {"stamps": stamps, "back": f"/feeds/{guid(url)}"})
    assert "It says that it has a new address" in page.text


def test_a_feed_that_was_found_by_https_takes_that_address_with_one_click(anna, url):
    by_http = url.replace("https", "http")
    know(anna.process, url, "Safe Show", fields={"is_own": True})
    add(anna, by_http)
    page = anna.get(f"/feeds/{guid(url)}")
    assert f"others on the network cannot read the connection: {url}" in page.text
    action = f"/feeds/{guid(url)}/move"
    page = anna.post(action, fields_of_form(page.reply.text, action))
    assert "The feed has its new address." in page.note
    assert f"Address {url}" in page.text
    assert "It was found by https" not in page.text


def test_a_redirect_that_was_seen_is_told_too_and_one_without_a_sign_in_is_none(anna, url):
    seen = Sighting(f"{url}/new", LONG_AGO, LONG_AGO)
    know(anna.process, url, "Radio", fields={"sighting": seen})
    private = url.replace("https://", "https://anna:secret@")
    know(anna.process, private, "Radio", new_feed_url=f"{url}/public")
    add(anna, url, private)
    assert f"{url}/new" in anna.get(f"/feeds/{guid(url)}").text
    assert "It says that" not in anna.get(f"/feeds/{guid(private)}").text


def test_a_feed_cannot_move_to_where_an_unsubscribed_one_is(anna, url):
    new = f"{url}/new"
    know(anna.process, url, "Radio", new_feed_url=new)
    add(anna, url, new)
    anna.post("/feeds/unsubscribe", {"only": guid(new)})
    page = anna.get(f"/feeds/{guid(url)}")
    assert "That address belongs to a feed that you have unsubscribed from." in page.text
    assert "Use the new address" not in page.text
    anna.post(f"/feeds/{guid(new)}/delete")
    assert "Use the new address" in anna.get(f"/feeds/{guid(url)}").text


def test_a_feed_can_go_back_to_an_address_of_its_own(anna, url):
    first, second = f"{url}/first", f"{url}/second"
    add(anna, first)
    for present in (second, url):
        anna.post(f"/feeds/{guid(first)}/move", {"new_url": present})
    for former in (first, second):
        know(anna.process, url, "Radio", new_feed_url=former)
        assert f"new address: {former}" in anna.get(f"/feeds/{guid(first)}").text
        assert "Use the new address" in anna.get(f"/feeds/{guid(first)}").text


def test_feeds_that_may_be_the_same_are_told_and_one_click_merges_them(anna, url):
    new, other = f"{url}/new", f"{url}/other"
    know(anna.process, url, "The Old One", new_feed_url=new)
    know(anna.process, new, "The New One")
    add(anna, other, url, new)
    assert "2 maybe twice" in anna.get("/").text
    assert titles(anna, "/?show=twice") == ["The New One", "The Old One"]
    assert "as The Old One, which is also in your list" in anna.get(f"/feeds/{guid(new)}").text
    assert "may be the same" not in anna.get(f"/feeds/{guid(other)}").text
    page = anna.get(f"/feeds/{guid(url)}")
    assert "This may be the same podcast as The New One, which is also in your list." in page.text
    assert "It says that it has" not in page.text  # merging does that
    action = f"/feeds/{guid(new)}/merge"
    page = anna.post(action, fields_of_form(page.reply.text, action))
    assert "The two feeds are merged." in page.note
    assert titles(anna) == [other.removeprefix("https://"), "The New One"]
    assert "twice" not in anna.get("/").note + anna.get("/").text
    anna.post("/changes/undo", {"stamps": page.values("stamps")[0], "back": "/"})
    assert len(titles(anna, "/?show=twice")) == 2


def test_the_one_to_keep_offers_to_take_in_each_of_the_others(anna, url):
    urls = [f"{url}/{number}" for number in range(3)]
    same = str(parse_feed_url(f"{url}/same").guid)
    for one in urls:
        know(anna.process, one, "Radio", podcast_guid=same)
    for one in urls:
        add(anna, one)
    page = anna.get(f"/feeds/{guid(urls[2])}")
    assert page.values("other_url")[:2] == [urls[1], urls[0]]
    assert page.reply.text.count(f'action="/feeds/{guid(urls[2])}/merge"') == 3  # and by hand
    assert page.text.count("Merge them, and keep this address") == 2
    page = anna.get(f"/feeds/{guid(urls[0])}")
    assert page.text.count("Merge them, and keep that address") == 1


KEEP_BOTH = "Keep both, and do not ask again"


def test_who_keeps_two_that_may_be_the_same_is_not_asked_again(anna, url):
    mp3, opus, same = f"{url}/mp3", f"{url}/opus", str(parse_feed_url(f"{url}/same").guid)
    for one in (mp3, opus):
        know(anna.process, one, "Radio", podcast_guid=same, new_feed_url=mp3)
        add(anna, one)
    assert "maybe twice" in anna.get("/").text
    action = f"/feeds/{guid(mp3)}/apart"
    shown = anna.get(f"/feeds/{guid(mp3)}")
    assert KEEP_BOTH in shown.text
    page = anna.post(action, fields_of_form(shown.reply.text, action))
    assert page.path == f"/feeds/{guid(mp3)}"
    assert "Both stay, and you will not be asked again." in page.note
    for place in ("/", f"/feeds/{guid(mp3)}", f"/feeds/{guid(opus)}"):
        text = anna.get(place).text
        assert "maybe twice" not in text
        assert "may be the same podcast" not in text
        assert "It says that it has a new address" not in text
    assert titles(anna) == ["Radio", "Radio"]
    assert titles(anna, "/?show=twice") == []
    anna.post(action, {"other": guid(opus)})  # sent again
    ben, _ = signed_in(anna.process)
    add(ben, mp3, opus)
    assert "maybe twice" in ben.get("/").text  # that is anna's own


def test_of_three_each_pair_is_kept_apart_by_itself(anna, url):
    urls = [f"{url}/{number}" for number in range(3)]
    same = str(parse_feed_url(f"{url}/same").guid)
    for one in urls:
        know(anna.process, one, "Radio", podcast_guid=same)
        add(anna, one)
    first, second, third = map(guid, urls)
    anna.post(f"/feeds/{third}/apart", {"other": second})
    assert anna.get(f"/feeds/{third}").values("other") == [first]
    assert anna.get(f"/feeds/{second}").values("other") == [first]
    assert anna.get(f"/feeds/{first}").values("other") == [third]
    anna.post(f"/feeds/{third}/apart", {"other": first})
    assert anna.get(f"/feeds/{third}").values("other") == []
    assert anna.get(f"/feeds/{first}").values("other") == [second]
    assert len(titles(anna, "/?show=twice")) == 2


def test_only_feeds_of_the_list_are_kept_apart(anna, url):
    add(anna, url)
    for other in (guid(f"{url}/unknown"), "", "x", "x" * 10_000):
        assert anna.post(f"/feeds/{guid(url)}/apart", {"other": other}).status == 404


def test_where_a_feed_that_was_left_has_moved_is_not_told_if_that_is_in_the_list(anna, url):
    new = f"{url}/new"
    know(anna.process, url, "Radio", new_feed_url=new)
    add(anna, url, new)
    anna.post("/feeds/unsubscribe", {"only": guid(url)})
    assert "that you have unsubscribed from" not in anna.get(f"/feeds/{guid(url)}").text


def test_what_is_told_of_twice_is_empty_when_there_is_nothing(anna, url):
    add(anna, url)
    assert "No feed seems to be in your list twice." in anna.get("/?show=twice").text
    assert titles(anna, "/?show=nonsense") == [url.removeprefix("https://")]


def test_notes_and_the_history_call_feeds_by_their_titles(anna, url):
    know(anna.process, url, "The Night Radio")
    add(anna, url)
    page = anna.post("/feeds/unsubscribe", {"only": guid(url)})
    assert "Unsubscribed from The Night Radio." in page.note
    assert "Unsubscribed from The Night Radio" in anna.get("/changes").text
    before = page.values("stamps")[0]
    restore = anna.get(f"/changes/restore?at={int(before) - 1}")
    assert "These come back The Night Radio" in restore.text
    page = anna.post(f"/feeds/{guid(url)}/delete")
    assert "Deleted The Night Radio." in page.note


def test_a_web_page_in_the_list_becomes_the_feed_that_it_names(anna, url):
    named = url.replace("known", "named")
    know(
        anna.process,
        url,
        fields={**failing(Failure.NOT_A_FEED), "failures": 1, "page_feeds": (named,)},
    )
    add(anna, url)
    page = anna.get(f"/feeds/{guid(url)}")
    assert "There is a page at its address, but no feed." in page.text
    assert f"It links to this feed: {named} Use this feed" in page.text
    fields = fields_of_form(page.reply.text, f"/feeds/{guid(url)}/move")
    assert fields["tell_apps"] == "1"
    anna.post(f"/feeds/{guid(url)}/move", fields)
    assert anna.get("/export/urls").reply.text.split() == [named]


def test_a_wipe_names_what_is_gone(feedkeep, url):
    anna, name = signed_in(feedkeep)
    urls = [f"{url}/{number}" for number in range(12)]
    know(anna.process, urls[0], "The Night Radio")
    add(anna, *urls)
    with feedkeep.client(name) as app:
        app.put(f"/subscriptions/{name}/phone.json", json=[]).raise_for_status()
    page = anna.get("/").reply.text
    wiped = page.partition('id="mass-unsubscribe"')[2].partition("</section>")[0]
    assert "The Night Radio" in wiped


def test_what_is_asked_again_because_it_was_changed_since_is_called_by_its_title(anna, url):
    know(anna.process, url, "The Night Radio")
    page = anna.post("/feeds/add", {"urls": url})
    anna.post("/feeds/unsubscribe", {"only": guid(url)})
    page = anna.post("/changes/undo", {"stamps": page.values("stamps")[0], "back": "/"})
    assert page.status == 409
    assert "Unsubscribed from The Night Radio" in page.text


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("asking")
    process = FeedkeepProcess(folder, trusted_proxies="127.0.0.1", fetch="public")
    process.run_first("feeds_are_never_fetched")
    with process:
        process.passwords.append(PASSWORD)
        yield process


def test_a_service_that_fetches_nothing_says_so(anna, url):
    add(anna, url)
    page = anna.get(f"/feeds/{guid(url)}")
    assert "Nothing: the operator of this service has switched that off." in page.text


def test_why_a_feed_was_not_fetched_yet_is_told(asking, url):
    anna, _ = signed_in(asking)
    add(anna, url)
    path = f"/feeds/{guid(url)}"
    assert "Nothing yet. Its title and picture will be fetched soon." in anna.get(path).text
    anna.post("/feeds/unsubscribe", {"only": guid(url)})
    assert "Nothing: you are not subscribed to it." in anna.get(path).text
