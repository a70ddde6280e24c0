"""Feed data on the pages: titles, pictures, failures, moves, possible duplicates."""

import re

import pytest
from feedkeep_process import FeedkeepProcess
from known_feeds import DAY_US, know, picture, png, subscribe_unchecked
from page_client import PageClient, Shown, guid_of, place_of, signed_in

from feedkeep.model import Episode, Failure, Sighting, Stamp
from feedkeep.rules.episodes import digest_of_file, digest_of_guid
from feedkeep.runtime import wall_clock

RED, BLUE = picture(png(200, 30, 30)), picture(png(20, 40, 200), "image/webp")
LONG_AGO = Stamp(wall_clock.now() - 9 * DAY_US)

_numbers = iter(range(10_000))


@pytest.fixture
def url():
    """The address of a feed that no other test has."""
    return f"https://known-{next(_numbers)}.example/feed"


def failing(why: Failure = Failure.NO_CONNECTION, **fields: object) -> dict[str, object]:
    return {"failing": LONG_AGO, "failures": 4, "failure": why, **fields}


def fields_of_form(page: Shown, action: str) -> dict[str, str]:
    """Return the hidden fields of the form that leads to a path."""
    form = page.reply.text.partition(f'action="{action}"')[2].partition("</form>")[0]
    assert form, action
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))


def press(anna: PageClient, page: Shown, action: str) -> Shown:
    """Send the form of a page that leads to a path."""
    return anna.post(action, fields_of_form(page, action))


def test_a_feed_is_listed_by_its_title_with_its_host_and_its_picture_or_a_letter(anna, url):
    plain, unread = f"{url}/plain", f"{url}/unread"
    know(anna.process, url, "The Night Radio", shown=RED)
    know(anna.process, plain, "Über uns")
    anna.add(url, plain, unread)
    page = anna.get("/")
    assert f"The Night Radio {url.split('/')[2]} ·" in page.text
    assert f'<img src="/pictures/{guid_of(url)}?{RED.digest[:8]}" loading=lazy' in page.reply.text
    assert page.reply.text.count("/pictures/") == 1
    assert re.findall(r"aria-hidden=true>(.*?)</i>", page.reply.text) == ["K", "Ü"]
    assert anna.titles() == [unread.removeprefix("https://"), "The Night Radio", "Über uns"]
    assert anna.titles("/?q=uns+über") == ["Über uns"]
    assert anna.titles("/?order=added")[-1] == "The Night Radio"


def test_an_address_that_is_only_ones_own_is_neither_listed_nor_fetched_unasked(tmp_path, url):
    process = FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1", fetch="public")
    process.run_first("feeds_are_never_fetched", "hashes_are_cheap")
    own = "https://members.example/0a1B2c3D4e5F6a7B8c9D0e1F"
    private, public = place_of(own), place_of(url)
    with process:
        anna, _ = signed_in(process)
        assert "Added members.example." in anna.add(own).note
        assert anna.titles() == ["members.example"]
        assert "0a1B2c3D" not in anna.get("/").reply.text
        assert own in anna.get(private).text
        assert "Nothing: this address looks private to you." in anna.get(private).text
        anna.post("/feeds/unsubscribe", {"only": guid_of(own)})
        assert "Fetch it anyway" not in anna.get(private).text
        anna.post("/feeds/subscribe", {"only": guid_of(own)})
        assert "Fetch it anyway" in anna.get(private).text
        for _ in range(2):  # the second click changes nothing
            permitted = anna.post(f"{private}/look")
            assert "Its title and picture will be fetched soon." in permitted.text
            assert "Fetch it anyway" not in permitted.text
        anna.post("/feeds/add", {"urls": url, "anyway": "1"})
        shown = anna.get(public).text
        assert "Nothing yet. Its title and picture will be fetched soon." in shown
        assert "Fetch it anyway" not in shown
        anna.post("/feeds/unsubscribe", {"only": guid_of(url)})
        assert "Nothing: you are not subscribed to it." in anna.get(public).text


def test_when_the_last_episode_came_is_told_of_silent_feeds_or_of_all_and_on_the_page(anna, url):
    silent, lively = f"{url}/1", f"{url}/2"
    know(anna.process, silent, "Silent", newest=Stamp(1_577_836_800_000_000))
    know(anna.process, lively, "Lively", newest=Stamp(wall_clock.now()))
    anna.add(silent, lively)
    page = anna.get("/")
    assert "last episode Jan 1, 2020" in page.text
    assert page.text.count("last episode") == 1
    assert anna.get("/?order=episode").text.count("last episode") == 2
    assert anna.titles("/?order=episode") == ["Lively", "Silent"]
    assert anna.titles("/?order=silent") == ["Silent", "Lively"]
    assert "Latest episode Jan 1, 2020" in anna.get(place_of(silent)).text


def test_the_latest_episode_stands_in_the_list_where_the_host_stood(anna, url):
    days_ago = Stamp(wall_clock.now() - 3 * DAY_US)
    know(anna.process, f"{url}/1", "Radio", episodes=[Episode("Of the week", days_ago)])
    know(anna.process, f"{url}/2", "Undated", episodes=[Episode("Of some day")])
    know(anna.process, f"{url}/3", "None")
    anna.add(*(f"{url}/{number}" for number in range(1, 4)))
    rows = anna.get("/").reply.text.split("<li>")
    titles = ("Radio", "Undated", "None")
    [radio], [undated], [none] = ([row for row in rows if f">{t}</a>" in row] for t in titles)
    host = url.split("/")[2]
    assert f'<small><span title="{host}">3 days ago: <bdi>Of the week</bdi></span></small>' in radio
    assert f'<small><span title="{host}"><bdi>Of some day</bdi></span></small>' in undated
    assert f"<small><span>{host}</span> · " in none
    assert "last episode" not in anna.get("/?order=episode").text
    added = anna.get("/?order=added").reply.text
    assert re.search(r"Of the week</bdi></span> · since [A-Z][a-z]{2} \d+, \d{4}</small>", added)
    assert anna.titles("/?q=WEEK") == ["Radio"]
    anna.post("/feeds/unsubscribe", {"only": guid_of(f"{url}/1")})
    assert "Of the week" not in anna.get("/?show=unsubscribed").text


def test_the_page_of_a_feed_has_its_latest_episodes_with_their_states(anna, url):
    day = Stamp(wall_clock.now() - DAY_US)
    told = [
        Episode("Begun", day, 3_600, "https://show.example/1", "", digest_of_file(f"{url}/1.mp3")),
        Episode("Finished one", day, None, "", digest_of_guid("g2"), ""),
        Episode("Of no length", None, None, "javascript:x", "", digest_of_file(f"{url}/3.mp3")),
        Episode("Not played", None, 754),
    ]
    know(anna.process, url, "Radio", episodes=told)
    anna.add(url)
    plays = [("1", 900, 0, None), ("2", 3_590, 3_600, "g2"), ("3", 75, 0, None)]
    actions = [
        {
            "podcast": url, "episode": f"{url}/{file}.mp3", "action": "play", "device": "phone",
            "position": position, "started": 0, "total": total, "guid": guid,
        }
        for file, position, total, guid in plays
    ]  # fmt: skip
    with anna.process.client(anna.name) as app:
        assert app.post(f"/api/2/episodes/{anna.name}.json", json=actions).status_code == 200
    page = anna.get(place_of(url))
    assert (
        "Latest episodes Begun 1 day ago 15:00 of 60:00 Finished one 1 day ago Finished"
        " Of no length Stopped at 1:15 Not played 12:34"
    ) in page.text
    for shown in (page, anna.get("/listening?show=all")):
        links = re.findall(r'<a href="(https://show[^"]*)" rel="([^"]*)"', shown.reply.text)
        assert links == [("https://show.example/1", "noopener noreferrer")]
    assert "javascript:" not in page.reply.text
    assert "Latest episode " not in page.text


def test_what_a_look_finds_later_is_shown_at_once_and_then_until_the_next_look(anna, url):
    anna.add(url)
    assert anna.titles() == [url.removeprefix("https://")]
    told = "Nothing: the operator of this service has switched that off."
    assert told in anna.get(place_of(url)).text
    know(anna.process, url, "First", fields={"next_fetch": Stamp(1)})
    assert anna.titles() == ["First"]
    know(anna.process, url, "Second")
    assert anna.titles() == ["Second"]
    assert anna.titles() == ["Second"]


def test_a_picture_comes_from_here_and_is_kept_as_long_as_it_is_the_same(anna, url):
    know(anna.process, url, "Radio", shown=BLUE)
    anna.add(url)
    reply = anna.http.get(f"/pictures/{guid_of(url)}?{BLUE.digest[:8]}")
    assert (reply.status_code, reply.content) == (200, BLUE.data)
    assert reply.headers["Content-Type"] == "image/webp"
    assert reply.headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    for query in ("", "?", "?0000"):
        reply = anna.http.get(f"/pictures/{guid_of(url)}{query}")
        assert reply.status_code == 200
        assert reply.headers["Cache-Control"] == "private, no-cache"


def test_a_picture_needs_a_session_and_a_feed_in_the_own_list_that_has_one(anna, url):
    know(anna.process, url, "Radio", shown=RED)
    know(anna.process, f"{url}/known", "Radio")
    path = f"/pictures/{guid_of(url)}?{RED.digest[:8]}"
    assert anna.get(path).status == 404  # another account's feed is as one that no account has
    anna.add(url, f"{url}/known", f"{url}/unknown")
    assert anna.get(path).status == 200
    for other in (guid_of(f"{url}/known"), guid_of(f"{url}/unknown"), "x"):
        assert anna.get(f"/pictures/{other}").status == 404
    ben, _ = signed_in(anna.process)
    assert ben.get(path).status == 404
    assert PageClient(anna.process).get(path).path == "/sign-in"
    with anna.process.client(anna.process.new_account()) as app:
        assert app.get(path).status_code == 303
    anna.post(f"{place_of(url)}/delete")
    assert anna.get(path).status == 404


def test_the_page_of_a_feed_tells_what_is_known_and_what_was_fetched_when(anna, url):
    about = {
        "description": "All about <b>radio</b>", "site_url": "https://radio.example/?a=1&b=2",
        "language": "de-AT", "author": "Anna & Ben",
    }  # fmt: skip
    fetched = {"picture_url": "https://cdn.example/x.jpg", "picture_looked": Stamp(1)}
    anna.add(url)
    know(anna.process, url, "The Night Radio", shown=RED, fields=fetched, **about)
    page = anna.get(place_of(url))
    link = '<a href="https://radio.example/?a=1&amp;b=2" rel="noopener noreferrer">'
    assert link in page.reply.text
    for text in (
        "The Night Radio", "All about <b>radio</b>", "Anna & Ben", "German (de-AT)",
        "The feed itself, last on", "Its picture from cdn.example, last on Jan 1, 1970",
    ):  # fmt: skip
        assert text in page.text
    assert "<title>The Night Radio" in page.reply.text
    assert f'<img src="/pictures/{guid_of(url)}?{RED.digest[:8]}"' in page.reply.text
    assert "Asked in vain" not in page.text


def test_the_words_of_a_hostile_feed_are_text_everywhere(anna, url):
    evil = "\u202e</a><script>alert(1)</script>\"'&" + "W" * 500
    site = "javascript:alert(1)"
    told = {"description": evil, "author": evil, "language": evil, "site_url": site}
    know(anna.process, url, evil, episodes=[Episode(evil)], **told)
    shown = "</a><script>alert(1)</script>\"'&"
    assert f"Added {shown}" in anna.add(url).note
    for path in ("/", place_of(url), "/changes"):
        page = anna.get(path)
        assert "<script>alert" not in page.reply.text, path
        assert "\u202e" not in page.reply.text
        assert shown in page.text
        assert "W" * 200 not in page.reply.text.partition("about")[0]
    assert "<bdi>&lt;/a&gt;" in anna.get("/changes").reply.text
    feed = anna.get(place_of(url))
    assert site not in feed.reply.text
    assert "Web site" not in feed.text
    assert f"Language {shown}" in feed.text


# C3.18
def test_pages_mark_a_feed_with_an_impossible_host_until_it_moves(anna, url):
    impossible = url.replace("https://", "https://feeds..")
    sentence = "Your apps do not get this feed"
    assert "Invalid host" in anna.add(impossible).text
    subscribe_unchecked(anna.process, anna.name, impossible)
    assert "not in your apps" in anna.get("/").text
    place = place_of(impossible)
    assert sentence in anna.get(place).text
    assert "Invalid host" in anna.post(f"{place}/move", {"new_url": f"{impossible}/x"}).text
    assert sentence not in anna.post(f"{place}/move", {"new_url": url}).text
    assert "not in your apps" not in anna.get("/").text


def test_feeds_that_failed_for_long_are_told_of_and_found_until_unsubscribed(anna, url):
    fine, lately, silent = f"{url}/fine", f"{url}/lately", f"{url}/silent"
    just_now = {"failing": wall_clock.now(), "failures": 1, "failure": Failure.TOO_SLOW}
    anna.add(url, fine, lately, silent)
    know(anna.process, url, "Gone", fields=failing(Failure.GONE, answered=Stamp(1)))
    know(anna.process, silent, "Silent", fields=failing())
    know(anna.process, fine, "Fine")
    know(anna.process, lately, "Lately", fields=just_now)
    home = anna.get("/")
    assert "2 can't be read" in home.text
    assert home.text.count("can't be read") == 3
    assert anna.titles("/?show=failing") == ["Gone", "Silent"]
    page = anna.get(place_of(url))
    assert "It hasn't been readable since" in page.text
    assert "Its server says that it is gone permanently." in page.text
    assert "The feed itself, last on Jan 1, 1970" in page.text
    assert "Last attempt failed:" in page.text
    for other in (fine, lately):
        assert "It cannot be read" not in anna.get(place_of(other)).text
    page = anna.post("/feeds/unsubscribe", {"only": guid_of(url), "show": "failing"})
    assert str(page.reply.url).endswith("/?show=failing")
    assert page.values("feed") == [guid_of(silent)]
    page = anna.post("/feeds/unsubscribe", {"only": guid_of(silent), "show": "/evil.example"})
    assert not page.reply.url.query
    assert "can't be read" not in page.text
    assert "It hasn't been readable since" not in anna.get(place_of(url)).text
    assert "All your feeds can be read." in anna.get("/?show=failing").text


def test_a_feed_that_says_where_it_is_now_moves_with_one_click_and_back(anna, url):
    new = url.replace("known", "new")
    know(anna.process, url, "Moving Show", new_feed_url=new)
    anna.add(url)
    page = anna.get(place_of(url))
    assert f"It says that it has a new address: {new}" in page.text
    page = press(anna, page, f"{place_of(url)}/move")
    assert "The feed has its new address." in page.note
    assert new in page.text
    assert "It says that" not in page.text
    history = anna.get("/changes")
    assert f"Moved Moving Show to {new.removeprefix('https://')}" in history.text
    assert "It says that it has a new address" in anna.undo(page, back=place_of(url)).text


def test_a_feed_that_was_found_by_https_takes_that_address_with_one_click(anna, url):
    know(anna.process, url, "Safe Show", fields={"is_own": True})
    anna.add(url.replace("https", "http"))
    page = anna.get(place_of(url))
    assert f"others on the network cannot read the connection: {url}" in page.text
    page = press(anna, page, f"{place_of(url)}/move")
    assert "The feed has its new address." in page.note
    assert f"Address {url}" in page.text
    assert "It was found by https" not in page.text


def test_a_feed_cannot_move_to_where_an_unsubscribed_one_is(anna, url):
    new, taken = f"{url}/new", "belongs to a feed that you have unsubscribed from"
    know(anna.process, url, "Radio", new_feed_url=new)
    anna.add(url, new)
    anna.post("/feeds/unsubscribe", {"only": guid_of(url)})
    assert "that you have unsubscribed from" not in anna.get(place_of(url)).text
    anna.post("/feeds/subscribe", {"only": guid_of(url)})
    anna.post("/feeds/unsubscribe", {"only": guid_of(new)})
    page = anna.get(place_of(url))
    assert f"That address {taken}." in page.text
    assert "Use the new address" not in page.text
    anna.post(f"{place_of(new)}/delete")
    assert "Use the new address" in anna.get(place_of(url)).text


def test_a_redirect_that_was_seen_is_told_too_and_one_without_a_sign_in_is_none(anna, url):
    seen = Sighting(f"{url}/new", LONG_AGO, LONG_AGO)
    private = url.replace("https://", "https://anna:secret@")
    know(anna.process, url, "Radio", fields={"sighting": seen})
    know(anna.process, private, "Radio", new_feed_url=f"{url}/public")
    anna.add(url, private)
    assert f"{url}/new" in anna.get(place_of(url)).text
    assert "It says that" not in anna.get(place_of(private)).text


def test_a_feed_can_go_back_to_an_address_of_its_own(anna, url):
    first, second = f"{url}/first", f"{url}/second"
    anna.add(first)
    for present in (second, url):
        anna.post(f"{place_of(first)}/move", {"new_url": present})
    for former in (first, second):
        know(anna.process, url, "Radio", new_feed_url=former)
        shown = anna.get(place_of(first)).text
        assert f"new address: {former}" in shown
        assert "Use the new address" in shown


def test_feeds_that_may_be_the_same_are_told_and_one_click_merges_them(anna, url):
    new, other = f"{url}/new", f"{url}/other"
    know(anna.process, url, "The Old One", new_feed_url=new)
    know(anna.process, new, "The New One")
    anna.add(other)
    assert "No feed seems to be in your list twice." in anna.get("/?show=twice").text
    assert anna.titles("/?show=nonsense") == [other.removeprefix("https://")]
    anna.add(url, new)
    assert "2 maybe twice" in anna.get("/").text
    assert anna.titles("/?show=twice") == ["The New One", "The Old One"]
    assert "as The Old One, which is also in your list" in anna.get(place_of(new)).text
    assert "may be the same" not in anna.get(place_of(other)).text
    page = anna.get(place_of(url))
    assert "This may be the same podcast as The New One, which is also in your list." in page.text
    assert "It says that it has" not in page.text  # merging does that
    page = press(anna, page, f"{place_of(new)}/merge")
    assert "The two feeds are merged." in page.note
    assert anna.titles() == [other.removeprefix("https://"), "The New One"]
    assert "twice" not in anna.get("/").text
    anna.undo(page, back="/")
    assert len(anna.titles("/?show=twice")) == 2


def test_who_keeps_two_that_may_be_the_same_is_not_asked_again(anna, url):
    mp3, opus, same = f"{url}/mp3", f"{url}/opus", guid_of(f"{url}/same")
    for one in (mp3, opus):
        know(anna.process, one, "Radio", podcast_guid=same, new_feed_url=mp3)
    anna.add(mp3, opus)
    assert "maybe twice" in anna.get("/").text
    action = f"{place_of(mp3)}/apart"
    for other in (guid_of(f"{url}/unknown"), "", "x", "x" * 10_000):
        assert anna.post(action, {"other": other}).status == 404
    shown = anna.get(place_of(mp3))
    assert "Keep both, and do not ask again" in shown.text
    page = press(anna, shown, action)
    assert page.path == place_of(mp3)
    assert "Both stay, and you will not be asked again." in page.note
    for place in ("/", place_of(mp3), place_of(opus)):
        text = anna.get(place).text
        assert "maybe twice" not in text
        assert "may be the same podcast" not in text
        assert "It says that it has a new address" not in text
    assert anna.titles() == ["Radio", "Radio"]
    assert anna.titles("/?show=twice") == []
    anna.post(action, {"other": guid_of(opus)})  # sent again
    ben, _ = signed_in(anna.process)
    ben.add(mp3, opus)
    assert "maybe twice" in ben.get("/").text  # that is anna's own


def test_of_three_that_may_be_the_same_each_pair_is_merged_or_kept_apart_by_itself(anna, url):
    urls = [f"{url}/{number}" for number in range(3)]
    first, second, third = map(place_of, urls)
    guids = [guid_of(one) for one in urls]
    for one in urls:
        know(anna.process, one, "Radio", podcast_guid=guid_of(f"{url}/same"))
        anna.add(one)
    page = anna.get(third)  # the one to keep offers to take in each of the others
    assert page.values("other_url")[:2] == [urls[1], urls[0]]
    assert page.reply.text.count(f'action="{third}/merge"') == 3  # and by hand
    assert page.text.count("Merge them, and keep this address") == 2
    assert anna.get(first).text.count("Merge them, and keep that address") == 1
    anna.post(f"{third}/apart", {"other": guids[1]})
    apart = [anna.get(place).values("other") for place in (first, second, third)]
    assert apart == [[guids[2]], [guids[0]], [guids[0]]]
    anna.post(f"{third}/apart", {"other": guids[0]})
    apart = [anna.get(place).values("other") for place in (first, second, third)]
    assert apart == [[guids[1]], [guids[0]], []]
    assert len(anna.titles("/?show=twice")) == 2


def test_notes_the_history_questions_and_wipes_call_feeds_by_their_titles(anna, url):
    know(anna.process, url, "The Night Radio")
    added = anna.add(url)
    page = anna.post("/feeds/unsubscribe", {"only": guid_of(url)})
    assert "Unsubscribed from The Night Radio." in page.note
    assert "Unsubscribed from The Night Radio" in anna.get("/changes").text
    before = page.values("stamps")[0]
    restore = anna.get(f"/changes/restore?at={int(before) - 1}")
    assert "These come back The Night Radio" in restore.text
    asked = anna.undo(added)  # it was changed since
    assert asked.status == 409
    assert "Unsubscribed from The Night Radio" in asked.text
    anna.add(url, *(f"{url}/{number}" for number in range(11)))
    with anna.process.client(anna.name) as app:
        app.put(f"/subscriptions/{anna.name}/phone.json", json=[]).raise_for_status()
    wiped = anna.get("/").reply.text.partition('id="mass-unsubscribe"')[2]
    assert "The Night Radio" in wiped.partition("</section>")[0]
    assert "Deleted The Night Radio." in anna.post(f"{place_of(url)}/delete").note


def test_a_web_page_in_the_list_becomes_the_feed_that_it_names(anna, url):
    named = url.replace("known", "named")
    known = failing(Failure.NOT_A_FEED, page_feeds=(named,)) | {"failures": 1}
    know(anna.process, url, fields=known)
    anna.add(url)
    page = anna.get(place_of(url))
    assert "There is a page at its address, but no feed." in page.text
    assert f"It links to this feed: {named} Use this feed" in page.text
    action = f"{place_of(url)}/move"
    assert fields_of_form(page, action)["tell_apps"] == "1"
    press(anna, page, action)
    assert anna.exported() == [named]
