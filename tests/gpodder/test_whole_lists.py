"""gpodder.net's simple API: whole lists, got and put, as JSON, OPML and text."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from people import HTTP_A, A, B, C, add, log_in, ok

from feedkeep.rules.feed_urls import parse_feed_url


def test_the_accounts_list_as_json_describes_each_podcast(person):
    add(person, A, B)
    listed = ok(person.app().get(f"/subscriptions/{person.name}.json"))
    assert [podcast["url"] for podcast in listed] == [A, B]
    for podcast in listed:
        assert {"url", "title", "description", "subscribers", "logo_url", "website"} <= set(podcast)


def test_a_devices_list_as_json_is_the_same_urls(person):
    add(person, A, B)
    for device in ("phone", "never-seen"):
        assert ok(person.app().get(f"/subscriptions/{person.name}/{device}.json")) == [A, B]


@pytest.mark.parametrize("path", ["", "/phone"])
def test_lists_as_text_and_as_opml_have_all_urls(person, path):
    add(person, A, B)
    text = person.app().get(f"/subscriptions/{person.name}{path}.txt")
    assert text.headers["Content-Type"].startswith("text/plain")
    assert text.text.split() == [A, B]
    opml = person.app().get(f"/subscriptions/{person.name}{path}.opml")
    assert opml.headers["Content-Type"].startswith("text/xml")
    assert opml.text.count("xmlUrl=") == 2
    assert f'xmlUrl="{A}"' in opml.text


@pytest.mark.parametrize("ending", ["json", "opml", "txt"])
def test_a_list_that_was_got_can_be_put_back(person, other, ending):
    add(person, A, f"{B}?a=1&b=<2>")
    got = person.app().get(f"/subscriptions/{person.name}/phone.{ending}").content
    reply = other.app().put(f"/subscriptions/{other.name}/phone.{ending}", content=got)
    assert (reply.status_code, reply.content) == (200, b"")
    assert other.subscribed() == person.subscribed() == {A, f"{B}?a=1&b=<2>"}


@pytest.mark.parametrize(
    ("ending", "body"),
    [
        ("json", b"{}"),
        ("json", b"null"),
        ("json", b'"https://b.example"'),
        ("json", b"[1, null]"),
        ("json", b"["),
        ("json", b""),
        ("json", b'[{"address": "https://b.example"}]'),
        ("opml", b""),
        ("opml", b"<html></html>"),
        ("opml", b"<opml/>"),
        ("opml", b'<opml><body><outline type="rss" url="https://b.example"/></body></opml>'),
        ("txt", b""),
        ("opml", b'<opml><body><outline xmlUrl="https://b.example"/>'),
        ("opml", "<opml><outline xmlUrl='https://ü.example'/></opml>".encode("latin-1")),
        ("opml", b"<br/><opml><body><outline xmlUrl='https://b.example'/></body></opml>"),
        ("txt", b"\xff"),
        ("txt", b"b.example\n//b.example/feed\nhttp://https://b.example\nhttps://b.example tag"),
        ("txt", b"<html>Bad Gateway</html>"),
    ],
)
def test_what_is_no_list_is_refused_and_unsubscribes_nothing(person, ending, body):
    add(person, A)
    reply = person.app().put(f"/subscriptions/{person.name}/phone.{ending}", content=body)
    assert person.subscribed() == {A}
    assert reply.status_code == 400


@pytest.mark.parametrize(
    ("ending", "body"),
    [
        ("txt", "{}\nfeeds.opml"),
        (
            "opml",
            "<opml><outline xmlUrl='{}'/><outline type='rss' url='https://c.example'/></opml>",
        ),
        ("opml", "<opml><outline xmlUrl='{}'/><outline text='A' type='rss'/></opml>"),
    ],
)
def test_a_list_with_what_may_have_meant_a_feed_unsubscribes_from_none(person, ending, body):
    add(person, A)
    link = body.format(B.replace("https:", "feed:"))
    reply = person.app().put(f"/subscriptions/{person.name}/phone.{ending}", content=link.encode())
    assert reply.status_code == 200
    assert person.subscribed() == {A, B}


@pytest.mark.parametrize("field", ["feed", "url"])
def test_the_urls_of_a_list_can_come_as_objects(person, field):
    path = f"/subscriptions/{person.name}/phone.json"
    assert person.app().put(path, json=[{field: A}, B]).status_code == 200
    assert person.subscribed() == {A, B}


@pytest.mark.parametrize("ending", ["json", "txt"])
def test_a_whole_list_can_be_put_without_a_device(person, ending):
    add(person, A)
    body = f'["{B}"]' if ending == "json" else B
    reply = person.app().put(f"/subscriptions/{person.name}.{ending}", content=body.encode())
    assert (reply.status_code, reply.content) == (200, b"")
    assert person.subscribed() == {B}


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
    assert app.put(f"/subscriptions/{person.name}/phone.opml", content=opml).status_code == 200
    listed = ok(app.get(f"/subscriptions/{person.name}.json"))
    assert {one["url"]: one["title"] for one in listed} == {A: "Of A", B: "Of B"}
    updates = ok(app.get(f"/api/2/updates/{person.name}/tablet.json?since=0"))["add"]
    assert {one["url"]: one["title"] for one in updates} == {A: "Of A", B: "Of B"}
    one = ok(app.get(f"/api/2/data/podcast.json?url={A}"))
    assert one["title"] == "Of A"
    written = app.get(f"/subscriptions/{person.name}.opml").text
    assert f'text="Of A" title="Of A" xmlUrl="{A}"' in written
    assert "Folder" not in written  # an app may read the first level only
    assert app.put(f"/subscriptions/{person.name}/phone.opml", content=written).status_code == 200
    assert "Folder" in person.process.must("export", person.name)


def test_an_empty_list_that_is_put_unsubscribes_from_all(person):
    add(person, A, B)
    assert person.app().put(f"/subscriptions/{person.name}/phone.json", json=[]).status_code == 200
    assert person.subscribed() == set()


def test_one_bad_url_in_a_list_that_is_put_is_left_out(person):
    path = f"/subscriptions/{person.name}/phone.json"
    assert person.app().put(path, json=["antennapod_local:1", A, "x", B]).status_code == 200
    assert person.subscribed() == {A, B}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_hides_no_feed(person, encoding):
    add(person, A, B)
    body = f"# my feeds\n{A}\n{B}\n".encode(encoding)
    reply = person.app().put(f"/subscriptions/{person.name}/phone.txt", content=body)
    assert reply.status_code == 200
    assert person.subscribed() == {A, B}


@pytest.mark.parametrize(
    ("ending", "body"),
    [
        ("json", f'["{C}", "a.example/feed"]'),
        ("txt", f"{C}\na.example/feed"),
        ("opml", f'<opml><outline xmlUrl="{C}"/><outline xmlUrl="a.example/feed"/></opml>'),
    ],
)
def test_a_refused_url_in_a_list_that_is_put_unsubscribes_nothing_and_the_log_says_so(
    person, ending, body
):
    add(person, A, B)
    path = f"/subscriptions/{person.name}/phone.{ending}"
    reply = person.app().put(path, content=body.encode())
    assert reply.status_code == 200
    assert person.subscribed() == {A, B, C}
    told = person.process.wait_for_line(reply.headers["X-Request-Id"])
    assert "invalid feed URLs" in told["event"]
    assert told["refused"] == 1


def test_putting_a_list_keeps_the_spelling_of_what_is_there(person):
    add(person, A)
    person.app().put(f"/subscriptions/{person.name}/phone.json", json=[HTTP_A, C])
    assert person.subscribed() == {A, C}


@pytest.mark.parametrize("path", ["{}.jsonp", "{}.xml", "{}/phone.jsonp", "{}/phone.xml"])
def test_jsonp_and_xml_are_not_there(person, path):
    reply = person.app().get(f"/subscriptions/{path.format(person.name)}")
    assert reply.status_code in {404, 405}


def test_head_has_the_headers_of_get_and_no_body(person):
    add(person, A)
    for path in (f"/subscriptions/{person.name}.txt", person.changes(), person.episodes):
        head, get = person.app().head(path), person.app().get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["Content-Length"] == get.headers["Content-Length"]


def test_a_list_that_is_put_lacks_a_feed_also_if_that_was_removed_and_came_back(person):
    """It states what the owner wants, and is no echo of the removal that the app was sent."""
    add(person, A, B)
    desk = log_in(person)
    path = f"/subscriptions/{person.name}/desk.json"
    assert desk.put(path, json=[A, B]).status_code == 200
    since = ok(desk.get(person.changes("desk"), params={"since": 0}))["timestamp"]
    guid = parse_feed_url(B).guid
    interface = person.interface()
    interface.patch(f"/subscriptions/{guid}", json={"is_subscribed": False}).raise_for_status()
    assert B in ok(desk.get(person.changes("desk"), params={"since": since}))["remove"]
    interface.patch(f"/subscriptions/{guid}", json={"is_subscribed": True}).raise_for_status()
    assert desk.put(path, json=[A]).status_code == 200
    assert person.subscribed() == {A}
