"""gpodder.net's simple API: whole lists, got and put, as JSON, OPML and text."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from people import HTTP_A, A, B, C, add, assert_empty, change, log_in, ok


def put(person, ending, body, device="/phone"):
    """Put a whole list of some format, which calls itself a form; return the reply."""
    path = f"/subscriptions/{person.name}{device}.{ending}"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    return person.app().put(path, content=body, headers=form)


def test_lists_have_all_urls_as_json_text_and_opml(person):
    add(person, A, B)
    app, whole = person.app(), f"/subscriptions/{person.name}"
    listed = ok(app.get(f"{whole}.json"))
    assert [podcast["url"] for podcast in listed] == [A, B]
    for podcast in listed:
        assert {"url", "title", "description", "subscribers", "logo_url", "website"} <= set(podcast)
    for device in ("phone", "never-seen"):
        assert ok(app.get(f"{whole}/{device}.json")) == [A, B]
    for path in ("", "/phone"):
        text, opml = app.get(f"{whole}{path}.txt"), app.get(f"{whole}{path}.opml")
        assert text.headers["Content-Type"].startswith("text/plain")
        assert text.text.split() == [A, B]
        assert opml.headers["Content-Type"].startswith("text/xml")
        assert opml.text.count("xmlUrl=") == 2
        assert f'xmlUrl="{A}"' in opml.text
    for path in (f"{whole}.txt", person.changes(), person.episodes):
        head, got = person.app().head(path), person.app().get(path)
        assert_empty(head)
        assert head.headers["Content-Length"] == got.headers["Content-Length"]
    for path in (".jsonp", ".xml", "/phone.jsonp", "/phone.xml"):
        assert app.get(f"{whole}{path}").status_code in {404, 405}


@pytest.mark.parametrize("ending", ["json", "opml", "txt"])
def test_a_list_that_was_got_can_be_put_back(person, other, ending):
    add(person, A, f"{B}?a=1&b=<2>")
    got = person.app().get(f"/subscriptions/{person.name}/phone.{ending}").content
    assert_empty(put(other, ending, got))
    assert other.subscribed() == person.subscribed() == {A, f"{B}?a=1&b=<2>"}


@pytest.mark.parametrize(
    ("ending", "body"),
    [
        ("json", "{}"),
        ("json", "null"),
        ("json", '"https://b.example"'),
        ("json", "[1, null]"),
        ("json", "["),
        ("json", ""),
        ("json", '[{"address": "https://b.example"}]'),
        ("opml", ""),
        ("opml", "<html></html>"),
        ("opml", "<opml/>"),
        ("opml", '<opml><body><outline type="rss" url="https://b.example"/></body></opml>'),
        ("txt", ""),
        ("opml", '<opml><body><outline xmlUrl="https://b.example"/>'),
        ("opml", "<opml><outline xmlUrl='https://ü.example'/></opml>".encode("latin-1")),
        ("opml", "<br/><opml><body><outline xmlUrl='https://b.example'/></body></opml>"),
        ("txt", b"\xff"),
        ("txt", "b.example\n//b.example/feed\nhttp://https://b.example\nhttps://b.example tag"),
        ("txt", "<html>Bad Gateway</html>"),
    ],
)
def test_what_is_no_list_is_refused_and_unsubscribes_nothing(person, ending, body):
    add(person, A)
    assert put(person, ending, body).status_code == 400
    assert person.subscribed() == {A}


RSS = "<outline type='rss'"


@pytest.mark.parametrize(
    ("ending", "body"),
    [
        ("txt", "{}\nfeeds.opml"),
        ("opml", f"<opml><outline xmlUrl='{{}}'/>{RSS} url='https://c.example'/></opml>"),
        ("opml", f"<opml><outline xmlUrl='{{}}'/>{RSS} text='A'/></opml>"),
    ],
)
def test_a_list_with_what_may_have_meant_a_feed_unsubscribes_from_none(person, ending, body):
    add(person, A)
    assert_empty(put(person, ending, body.format(B.replace("https:", "feed:"))))
    assert person.subscribed() == {A, B}


OPML = f"""<opml version="2.0"><head/><body>
<outline text="News"><outline type="rss" text="A &amp; B" xmlUrl="{A}"/></outline>
<outline type="rss" text="B" xmlUrl="{B}"/></body></opml>"""


def test_a_list_can_be_of_objects_or_without_a_device_or_empty(person):
    for device, ending, body, expected in (
        ("/phone", "json", f'[{{"feed": "{A}"}}, "{B}"]', {A, B}),
        ("", "json", f'["{B}"]', {B}),
        ("/phone", "json", f'[{{"url": "{C}"}}]', {C}),
        ("", "txt", A, {A}),
        ("/phone", "txt", f"{B}\r\n\n  {C}\n", {B, C}),
        ("/phone", "opml", OPML, {A, B}),
        ("/phone", "txt", f"# my feeds\n{A}\n{B}\n".encode("utf-8-sig"), {A, B}),
        ("/phone", "txt", f"# my feeds\n{A}\n{B}\n".encode("utf-16"), {A, B}),
        ("/phone", "json", f'["antennapod_local:1", "x", "{C}"]', {A, B, C}),
        ("/phone", "json", "[]", set()),
    ):
        assert_empty(put(person, ending, body, device))
        assert person.subscribed() == expected
    app = person.app()
    person.put([A, B], app=app)
    since = person.pull(app=app)["timestamp"]
    person.put([B, A], app=app)
    told = person.pull(app=app, since=since)
    assert (told["add"], told["remove"]) == ([], [])


def test_of_two_lists_that_are_put_at_once_one_is_the_list_then(person):
    lists = [[A, f"{A}/1", f"{A}/2"], [B, f"{B}/1", f"{B}/2"]]
    path = f"/subscriptions/{person.name}/phone.json"
    clients = [log_in(person), log_in(person)]
    with ThreadPoolExecutor(2) as threads:
        for _ in range(20):
            for done in threads.map(lambda c, urls: c.put(path, json=urls), clients, lists):
                assert done.status_code == 200
            assert person.subscribed() in map(set, lists)


def test_titles_of_an_uploaded_list_stay_and_are_told_to_apps(person):
    add(person, A)
    app = person.app()
    opml = f'''<opml><body><outline text="Folder"><outline title="Of A" text="About" xmlUrl="{A}"/>
    </outline><outline text="Of B" xmlUrl="{B}"/></body></opml>'''
    assert_empty(put(person, "opml", opml))
    listed = ok(app.get(f"/subscriptions/{person.name}.json"))
    updates = ok(app.get(f"/api/2/updates/{person.name}/tablet.json?since=0"))["add"]
    for podcasts in (listed, updates):
        assert {one["url"]: one["title"] for one in podcasts} == {A: "Of A", B: "Of B"}
    assert ok(app.get(f"/api/2/data/podcast.json?url={A}"))["title"] == "Of A"
    written = app.get(f"/subscriptions/{person.name}.opml").text
    assert f'text="Of A" title="Of A" xmlUrl="{A}"' in written
    assert "Folder" not in written  # an app may read the first level only
    assert_empty(put(person, "opml", written))
    assert "Folder" in person.process.must("export", person.name)


@pytest.mark.parametrize(
    ("ending", "body"),
    [
        ("json", f'["{C}", "a.example/feed"]'),
        ("txt", f"{C}\na.example/feed"),
        ("opml", f'<opml><outline xmlUrl="{C}"/><outline xmlUrl="a.example/feed"/></opml>'),
    ],
)
def test_a_refused_url_in_a_list_unsubscribes_nothing_and_the_log_says_so(person, ending, body):
    add(person, A, B)
    reply = put(person, ending, body)
    assert_empty(reply)
    assert person.subscribed() == {A, B, C}
    told = person.process.wait_for_line(reply.headers["X-Request-Id"])
    assert "invalid feed URLs" in told["event"]
    assert told["refused"] == 1


def test_a_list_that_is_put_lacks_a_feed_also_if_that_was_removed_and_came_back(person):
    """It states what the owner wants, and is no echo of the removal that the app was sent."""
    add(person, A, B)
    desk = log_in(person)
    person.put([HTTP_A, B], "desk", desk)
    assert person.subscribed() == {A, B}  # as they were spelled
    since = person.pull("desk", desk, since=0)["timestamp"]
    change(person, B, is_subscribed=False)
    assert B in person.pull("desk", desk, since=since)["remove"]
    change(person, B, is_subscribed=True)
    person.put([HTTP_A], "desk", desk)
    assert person.subscribed() == {A}
