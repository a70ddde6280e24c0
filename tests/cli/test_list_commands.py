"""feedkeep import, export, list and move."""

import json
import re

import pytest
from command_line import refusal, talk
from feedkeep_process import FeedkeepProcess
from known_feeds import know

from feedkeep.model import Failure, Stamp
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.fetch_order import FIRST_DUE

A, B = "https://a.example/feed", "https://b.example/feed"
FEEDS = f"{A}\n\n# a comment\n  {B}  \nftp://c.example\n"
URL = "https://of-the-command-line.example"
LONG_AGO = Stamp(1_700_000_000_000_000)


@pytest.fixture
def name(feedkeep):
    return feedkeep.new_account()


@pytest.fixture
def with_account(offline):
    offline.must("account", "create", "me")
    return offline


@pytest.fixture
def with_titles(feedkeep, name):
    """The name of an account with three feeds, of which two are known."""
    with feedkeep.client(name) as client:
        add(client, *({"feed_url": f"{URL}/{letter}"} for letter in "zax"))
    failing = {"failing": LONG_AGO, "failures": 1, "failure": Failure.NO_SUCH_HOST}
    know(feedkeep, f"{URL}/z", "Zebras")
    know(feedkeep, f"{URL}/a", "apples \x1b[31m", fields=failing)
    return name


def add(client, *items):
    reply = client.post("/subscriptions", json={"subscriptions": list(items)})
    assert reply.status_code == 200
    return reply.json()["success"]


def rows(text):
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines()]


def urls(process, name):
    return sorted(process.must("export", name, "--format", "urls").split())


def test_import_tells_what_became_of_each_line(feedkeep, name, tmp_path):
    file = tmp_path / "feeds.txt"
    file.write_text(FEEDS)
    first = feedkeep.must("import", name, str(file)).splitlines()
    assert first[0] == "2 added, 0 already there, 1 refused."
    assert first[1].startswith('line 5: Unsupported protocol "ftp"')
    assert first[1].endswith("(ftp://c.example)")
    again = feedkeep.must("import", name, "-", stdin=FEEDS + "http://a.example/feed/\n")
    assert again.startswith("0 added, 3 already there, 1 refused.\n")
    with feedkeep.client(name) as client:
        first, second = client.get("/subscriptions").json()["subscriptions"]
        client.patch(f"/subscriptions/{first['guid']}", json={"is_subscribed": False})
        client.delete(f"/subscriptions/{second['guid']}")
    again = feedkeep.must("import", name, "-", stdin=f"{A}\n{B}\n")
    assert again == "2 added, 0 already there, 0 refused.\n"
    hostile = feedkeep.must("import", name, "-", stdin=f"{FEEDS}x\x1b]0;pwn\x07{'y' * 999}\n")
    assert "\x1b" not in hostile
    assert "\x07" not in hostile
    assert len(hostile) < 500


def test_import_tells_what_was_not_understood_in_a_hundred_lines(feedkeep, name):
    unknown = '<outline type="rss" text="Lost"/>'
    outlines = '<outline url="feed:https://a.example"/><outline xmlUrl="b.example"/>'
    file = f"```\n<outlines>{outlines}{unknown * 120}</outlines>"
    done = feedkeep.run("import", name, "-", stdin=file)
    assert done.stderr.splitlines() == [
        "feedkeep: Ignored text outside the list: ```",
        "feedkeep: Addresses completed with “https://”: 1, such as https://b.example.",
    ]
    told = done.stdout.splitlines()
    assert told[0] == "2 added, 0 already there, 120 refused."
    assert told[1:] == ["line 2: No feed address was found here. (Lost)"] * 100 + ["And 20 more."]
    table = "name,x,link\nA,https://a.example,https://a.example/rss\n"
    message = refusal(feedkeep, "import", name, "-", stdin=table)
    assert "which column has the addresses of the feeds: x, link." in message


def test_import_names_what_it_did_not_add_and_keeps_the_first_title_and_folder(feedkeep, name):
    outlines = (
        '<outline text="News"><outline text="A" xmlUrl="https://a.example"/></outline>'
        '<outline text="Other"><outline text="B" xmlUrl="http://a.example/"/></outline>'
        '<outline text="C" xmlUrl="https://c.example" subscribed="0"/>'
    )
    printed = feedkeep.must("import", name, "-", stdin=f"<opml>{outlines}</opml>").splitlines()
    assert printed == [
        "1 added, 1 already there, 0 refused.",
        "line 1: The file has this feed more than once; the first one counts. (http://a.example/)",
        "line 1: You had left this feed in the app that wrote the file. (https://c.example)",
    ]
    exported = feedkeep.must("export", name)
    assert '<outline text="News"' in exported
    assert 'text="A"' in exported
    assert "Other" not in exported


EMPTY = r"has no feed URLs, so nothing was imported\."
REFUSED = EMPTY + r".* (item|line) 1: No protocol present.* \(x\)"
NO_LIST = r"is not a list of feeds \(OPML, .*"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"subscriptions": [{"feed_url": "x"}]}', REFUSED),
        (b"<opml><body><outline xmlUrl='x'/></body></opml>", REFUSED),
        (b"", EMPTY),
        (b"\n\n", EMPTY),
        (b"<opml><body/></opml>", EMPTY),
        (b'{"subscriptions": []}', EMPTY),
        (b"\x89PNG\r\n\0", NO_LIST),
        (b"<opml><body>", NO_LIST),
        (b'{"subscriptions": [', NO_LIST),
        (b"# A title\n\nSome words.\n" * 20, NO_LIST),
    ],
)
def test_a_file_without_any_feed_in_it_is_an_error(with_account, content, expected):
    file = with_account.folder / "feeds.opml"
    file.write_bytes(content)
    told = refusal(with_account, "import", "me", str(file))
    assert re.fullmatch(f"{file} {expected}", told), told
    told = refusal(with_account, "import", "me", "-", stdin=content)
    assert re.fullmatch(f"Standard input {expected}", told), told


def test_imported_feeds_are_fetched_before_those_that_are_due(tmp_path):
    feedkeep = FeedkeepProcess(tmp_path, fetch="public")  # it is never started
    feedkeep.must("account", "create", "me")
    imported = ["https://a.example/1", "https://a.example/2", "https://me:key@a.example/3"]
    feedkeep.must("import", "me", "-", stdin="\n".join(imported))
    guids = [parse_feed_url(url).guid for url in imported]
    known = feedkeep.use(lambda service: service.store.feeds.known(set(guids)))
    assert {guid: known[guid].next_fetch < FIRST_DUE for guid in known} == dict.fromkeys(
        guids[:2], True
    )


def test_a_long_import_on_a_terminal_shows_a_bar(with_account):
    file = with_account.folder / "feeds.txt"
    file.write_text("".join(f"https://a.example/{number}\n" for number in range(3_000)))
    shown = talk(with_account, ["import", "me", str(file)], b"")
    assert "3000/3000" in shown
    assert "3000 added" in shown


@pytest.mark.parametrize("kind", ["opml", "json", "urls"])
def test_an_export_can_be_imported_elsewhere(feedkeep, name, kind, tmp_path):
    other = feedkeep.new_account()
    guid = "00000000-0000-4000-8000-000000000001"
    items = [
        {"feed_url": "https://a.example/?x=1&y=<2>"},
        {"feed_url": 'https://b.example/"quoted"', **({"guid": guid} if kind != "urls" else {})},
        {"feed_url": "https://ünï.example/\u2028"[:-1]},
        {"feed_url": "https://gone.example"},
    ]
    with feedkeep.client(name) as client:
        added = add(client, *items)
        client.patch(f"/subscriptions/{added[3]['guid']}", json={"is_subscribed": False})
    file = tmp_path / "export"
    feedkeep.must("export", name, "--format", kind, "--output", str(file))
    assert feedkeep.must("export", name, "--format", kind).encode() == file.read_bytes()
    assert feedkeep.must("import", other, str(file)) == "3 added, 0 already there, 0 refused.\n"
    with feedkeep.client(other) as client:
        entries = client.get("/subscriptions").json()["subscriptions"]
    told = [(entry["feed_url"], entry["guid"]) for entry in entries]
    assert told == [(item["feed_url"], item["guid"]) for item in added[:3]]
    assert feedkeep.must("export", other, "--format", kind).encode() == file.read_bytes()


def test_an_export_as_json_is_a_readable_post_and_opml_has_only_what_xml_has(feedkeep, name):
    feedkeep.must("import", name, "-", stdin=FEEDS)
    body = feedkeep.must("export", name, "--format", "json", "--output", "-")
    assert body.count("\n") > 5
    items = json.loads(body)["subscriptions"]
    assert [set(item) for item in items] == [{"feed_url", "guid"}] * 2
    other = feedkeep.new_account()
    with feedkeep.client(other) as client:
        assert len(client.post("/subscriptions", content=body).json()["success"]) == 2
    feedkeep.must("import", name, "-", stdin="https://a.example/\ufffe\n")
    exported = feedkeep.must("export", name)
    assert "https://a.example/%EF%BF%BE" in exported
    feedkeep.must("import", other, "-", stdin=exported)
    assert feedkeep.must("export", other) == exported


def test_feeds_are_listed_by_title_with_what_fails(feedkeep, with_titles):
    listed = rows(feedkeep.must("list", with_titles))
    head, apples, zebras, unknown = listed
    assert head == ["title", "address", "subscribed", "failing since"]
    assert apples[:2] == ["apples [31m", f"{URL}/a"]
    assert apples[3] == "2023-11-14T22:13:20Z: There is no server of that name."
    assert zebras[:2] == ["Zebras", f"{URL}/z"]
    assert len(zebras) == 3
    assert unknown[:2] == ["-", f"{URL}/x"]
    assert rows(feedkeep.must("list", with_titles, "--failing")) == [head, apples]


def test_titles_and_folders_of_a_file_are_listed_and_exported(feedkeep, with_titles):
    name = with_titles
    exported = feedkeep.must("export", name)
    assert f'text="Zebras" title="Zebras" xmlUrl="{URL}/z"' in exported
    assert f'text="{URL}/x" xmlUrl="{URL}/x"' in exported
    assert '"title": "Zebras"' in feedkeep.must("export", name, "--format", "json")
    assert "Zebras" not in feedkeep.must("export", name, "--format", "urls")
    opml = f'''<opml><outline text="News"><outline text="Radio Z" xmlUrl="{URL}/z"/>
    <outline title="Of the file" xmlUrl="{URL}/x"/></outline></opml>'''
    assert feedkeep.must("import", name, "-", stdin=opml).startswith("0 added, 2 already there")
    titles = [row[0] for row in rows(feedkeep.must("list", name))[1:]]
    assert titles == ["apples [31m", "Of the file", "Zebras"]
    exported = feedkeep.must("export", name)
    assert '<outline text="News" title="News">' in exported
    assert f'text="Of the file" title="Of the file" xmlUrl="{URL}/x"' in exported
    other = feedkeep.new_account()
    feedkeep.must("import", other, "-", stdin=exported)
    assert sorted(feedkeep.must("export", other).split()) == sorted(exported.split())


def test_a_feed_is_moved_and_apps_get_the_new_url_on_request(feedkeep, name):
    feedkeep.must("import", name, "-", stdin=FEEDS)
    moved = "https://moved.example/feed"
    for old, new, reason in (
        ("https://never.example", moved, "no feed with the old URL"),
        (A, B, "merge them on the page"),
        (A, "moved.example", "No protocol present"),
        (A, f"http://{moved}", "Two protocols present"),
        (A, "https://moved..example", "Invalid host"),
    ):
        assert reason in refusal(feedkeep, "move", name, old, new)
    assert urls(feedkeep, name) == [A, B]
    told = feedkeep.must("move", name, "feed://a.example/feed", f"feed:{moved}")
    assert told == "Moved; apps keep the old URL.\n"
    told = feedkeep.must("move", name, "http://a.example/feed", moved, "--tell-apps")
    assert "apps get the new URL" in told
    assert urls(feedkeep, name) == [B, moved]
