"""Shapes of lists that people really have: made-up lists of each, and the feeds in them."""

import json

import pytest

from feedkeep.formats import feed_json, feed_list
from feedkeep.formats.feed_list import Format, read_feed_list, write_feed_list
from feedkeep.formats.feed_table import UnclearColumn
from feedkeep.formats.listed_feed import INSIDE, LEFT, LINK
from feedkeep.model import FeedLabel, Subscription
from feedkeep.model.errors import InvalidInput
from feedkeep.rules.feed_labels import Labels
from feedkeep.rules.feed_urls import parse_feed_url

A, B = "https://a.example/rss", "https://b.example/rss"
BOTH = [(A, "Alpha"), (B, "Beta")]


def feeds_of(found, column=""):
    text = found if isinstance(found, str) else json.dumps(found)
    return read_feed_list(text.encode(), column=column).feeds


def listed(found, column=""):
    """Return the URL, title and folder of each feed without doubt, and without empty ends."""
    feeds = [feed for feed in feeds_of(found, column) if feed.doubt is None]
    several = [(feed.feed_url, feed.title, feed.folder) for feed in feeds]
    return [one if one[2] else one[:2] if one[1] else one[:1] for one in several]


@pytest.mark.parametrize(
    ("text", "feeds"),
    [
        (f"Title,{A}", [(A, "Title")]),
        (f"Title: {A}", [(A, "Title")]),
        (f"Title:{A}", [(A, "Title")]),
        (f"Title {A}", [(A, "Title")]),
        (f"Title (UK) — {A}", [(A, "Title (UK)")]),
        (f"- {A}", [(A,)]),
        (f"1. {A}", [(A,)]),
        (f"12) Title: {A}", [(A, "Title")]),
        (f"- [x] {A}", [(A,)]),
        (f"• {A}", [(A,)]),
        (f"•{A}", [(A,)]),
        (f"[A (UK)]({A})", [(A, "A (UK)")]),
        (f"* [A]({A}_(x))", [(f"{A}_(x)", "A")]),
        (f"(RSS: {A})", [(A,)]),
        (f"<{A}>", [(A,)]),
        (f'"{A}"', [(A,)]),
        (f"„{A}“", [(A,)]),
        (f"| Title | {A} |", [(A, "Title")]),
        (f"{A},", [(A,)]),
        (f"{A}, Title", [(A, "Title")]),
        (f"{A},Title", [(f"{A},Title",)]),  # commas are legal in addresses
        (f"{A}/0,2-3208,1-0,0.xml", [(f"{A}/0,2-3208,1-0,0.xml",)]),
        (f'{A} "~A title" tag', [(A, "A title")]),  # newsboat
        (f"{A} A Category", [(A, "A Category")]),  # podget
        (f"{A}  {B}", [(A,), (B,)]),
        (f"{A}, {B}", [(A,), (B,)]),
        (f"{A},{B}", [(A,), (B,)]),
        (f"https://c.example/?of={A},{B}", [(f"https://c.example/?of={A},{B}",)]),
        (f"https://c.example/{A}", [(f"https://c.example/{A}",)]),
        (f"feed:{A} podcast://b.example/rss", [(A,), (B,)]),
        (f"Title https://a.example {A}", [(A, "Title")]),
        (f"Title {A} {B}", []),  # both are in doubt
        ("- a.example/rss", [(A,)]),
        (f"* News :tag:\n** {A} :tag:\n** [[{B}][Beta]] :news:", [(A,), (B, "Beta")]),  # elfeed
        (f"[[{A}][Alpha]]", [(A, "Alpha")]),
        (f"* News\n:PROPERTIES:\n:ID: news\n:END:\n** TODO [[{A}][Alpha]] :tag:", [(A, "Alpha")]),
        (f'      \'("{A}"\n("{B}" news)\n;; {A}/old', [(A,), (B, "news")]),  # elfeed in Lisp
        (f"  - url: {A}\n    rss: {B}", [(A,), (B,)]),
        (f"* **Alpha** — <{A}>", [(A, "Alpha")]),
        (f"- Alpha ([RSS]({A}))", [(A, "Alpha")]),
        (f"# Mine\n\n---\n{A}", [(A,)]),
        (f"Website: https://a.example\nRSS: {A}", [(A,)]),
        (f"- title: Alpha\n  homepage: https://a.example\n  rss: {A}",
         [("", "- title: Alpha"), (A,)]),
        (f"image: https://a.example/1\nurl: {A}", [(A,)]),
        (f"[Alpha Website](https://a.example)\n[Show page](https://a.example)\n{A}",
         [("https://a.example", "Alpha Website"), (A,)]),
        (f"Homecoming: https://a.example\nWebsite: {A}", [
            ("https://a.example", "Homecoming"), (A, "Website"),
        ]),
        (f"[alpha]\nurl={A}\nspool=/home/b", [(A,), ("", "spool=/home/b")]),  # castget
        (f"[{{000214A0-0000-0000-C000-000000000046}}]\nProp3=19,0\n[InternetShortcut]\nIDList=\n"
         f"URL={A}\nHotKey=0\n", [(A,)]),  # Windows
        (f"My show={A}\nhomepage=https://a.example", [(A, "My show")]),
        (f"{A}\nmy feeds", [(A,), ("", "my feeds")]),  # tables follow
        (f"{A},Alpha\n{B},Beta", BOTH),
        (f"# mine\n{A},Alpha\n{B},Beta", BOTH),
        (f"Alpha,{A}\nBeta,{B}", BOTH),
        (f"1;Alpha;{A}\n2;Beta;{B}", BOTH),
        (f"{A}/0,2-1,0.xml\n{B}/0,2-2,0.xml", [(f"{A}/0,2-1,0.xml",), (f"{B}/0,2-2,0.xml",)]),
        (f"{A}/index,rss\n{B}/index,rss", [(f"{A}/index,rss",), (f"{B}/index,rss",)]),
        (f"Name,Link\nAlpha,{A}\nBeta,{B}", BOTH),
        (f'sep=;\n"Name";"Link"\n"Alpha";"{A}"\n"Beta";"{B}"', BOTH),
        (f"标题\tRSS 链接\nAlpha\t{A}\nBeta\t{B}", BOTH),
        (f'"Name";"RSSFeed";"Directory"\n"Alpha";"{A}";"F:\\Podcasts\\Alpha"', BOTH[:1]),
        (f"| Name | Feed |\n|:---|---:|\n| Alpha | [rss]({A}) |\n| Beta | <{B}> |", BOTH),
        (f"name|website|podcast\nAlpha|https://a.example|{A}\nBeta||{B}", BOTH),
        (f"title,image url,url\nAlpha,https://a.example/1.png,{A}\nBeta,,{B}", BOTH),
        (f"Title,URL\nOne, or two,{A}\nBeta,{B}\nC,{B}/1,2.xml\nD,{B}/4", [
            (A, "One, or two"), (B, "Beta"), (f"{B}/1,2.xml", "C"), (f"{B}/4", "D"),
        ]),
        (f"url,title\n{A},Alpha, the show\n{B},Beta\n", BOTH),
        (f"Title,RSS,Category\nLaw, Inc,{A},News", [(A, "Law, Inc")]),
        (f"Podcasts, 2026\n{A}/1,2,3.xml\n{B}/1,2,4.xml", [
            ("", "Podcasts, 2026"), (f"{A}/1,2,3.xml",), (f"{B}/1,2,4.xml",),
        ]),
        (f"Title,Feed URL,\nAlpha,{A},https://a.example\nBeta,{B},https://b.example", BOTH),
        (f",Title,Feed URL\nhttps://a.example,Alpha,{A}\nhttps://b.example,Beta,{B}", BOTH),
        (f"Title,RSS,Category\nLaw, Inc,,News\nBeta,{B},x", [("", "Law, Inc, , News"), BOTH[1]]),
        (f'title,url\n"Alpha\n\t2",{A}\nBeta,{B}\n', [(A, "Alpha 2"), BOTH[1]]),
    ],
)  # fmt: skip
def test_text_and_tables_name_their_feeds_wherever_the_addresses_stand(text, feeds):
    assert listed(text) == feeds


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (f"name,link,podcast\nAlpha,https://a.example,{A}\n", ["link", "podcast"]),
        ("name,website\nAlpha,https://a.example\n", ["website"]),
        (f"Alpha,https://a.example,{A}\nBeta,https://b.example,{B}", ["2", "3"]),
    ],
)
def test_table_with_an_unclear_column_of_addresses_is_asked_about(table, names):
    with pytest.raises(UnclearColumn) as unclear:
        listed(table)
    assert unclear.value.names == names
    assert listed(table, column=names[-1])[0][1] == "Alpha"


@pytest.mark.parametrize(
    ("heading", "row", "feed"),
    [
        ("Title,RSS,Category", f"Law, Inc,{A},News", (A, "Law, Inc")),
        ("Title;RSS;Category", f"Law; Inc;{A};News", (A, "Law; Inc")),
        ("ID,Title,RSS,Site", f"1,A, b, c,{A},https://a.example", (A, "A, b, c")),
        ("Title,RSS,Category", f"Law, Inc,{A},", (A, "Law, Inc")),
        ("Title,RSS,Category", f"Law, Inc,{A},News,", (A, "Law, Inc")),
        ("Title,RSS,Category", f"Alpha,{A},,,", (A, "Alpha")),
        ("ID,RSS,Title", f"1,2,{A},Alpha", (A, "Alpha")),
        ("Title,RSS", f"Alpha,{A},a great show", (A, "Alpha")),
        ("RSS,Title,Category", f"{A},Alpha, Inc,News", (A, "Alpha")),
        ("ID,Title,RSS", f"1,Alpha,{A}/1,2.xml", (f"{A}/1,2.xml", "Alpha")),
    ],
)
def test_row_with_an_unquoted_separator_has_its_address_and_title(heading, row, feed):
    separator = ";" if ";" in heading else ","
    usual = separator.join(B if name == "RSS" else "Beta" for name in heading.split(separator))
    assert listed(f"{heading}\n{row}\n{usual}\n") == [feed, (B, "Beta")]


@pytest.mark.parametrize(
    ("heading", "row", "urls"),
    [
        ("Title,RSS,Category", f"Alpha,{A}/1,2.xml,News", [f"{A}/1"]),
        ("Title,Site,RSS,Category", f"Law, Inc,https://a.example,{A},News",
         ["https://a.example", A]),
        ("Title,RSS,Category", f"Law, Inc,{A}/1,2.xml,News", [f"{A}/1"]),
    ],
)  # fmt: skip
def test_row_with_too_many_cells_is_in_doubt_unless_one_address_is_in_place(heading, row, urls):
    usual = ",".join(B if name == "RSS" else "Beta" for name in heading.split(","))
    feeds = feeds_of(f"{heading}\n{row}\n{usual}\n")
    assert [feed.feed_url for feed in feeds] == [*urls, B]
    assert {str(feed.doubt) for feed in feeds[:-1]} == {
        "This row has more cells than the table has columns."
    }


def test_row_with_too_many_cells_has_no_more_feeds_than_are_taken():
    with pytest.raises(InvalidInput, match="At most 3 feeds"):
        read_feed_list(f"Title,RSS,Tag\nBeta,{B},x\na,{A},{A},{A},{A},x\n".encode(), 3)


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("Title,Link,Link", ["2: Link", "3: Link"]),
        ("Title,,", ["2", "3"]),
        ("Title,Link,", ["2: Link", "3"]),
        ('Title,"Link  of\nit",Other', ["Link of it", "Other"]),  # as browsers send it back
    ],
)
def test_columns_of_addresses_with_equal_or_empty_names_can_be_chosen(heading, names):
    table = f"{heading}\nAlpha,https://a.example,{A}\nBeta,https://b.example,{B}\n"
    with pytest.raises(UnclearColumn) as unclear:
        listed(table)
    assert unclear.value.names == names
    assert listed(table, column=names[0])[0] == ("https://a.example", "Alpha")
    assert listed(table, column=names[1]) == BOTH


@pytest.mark.parametrize(
    "found",
    [
        [{"feedUrl": A, "title": "Alpha"}, {"xmlUrl": B, "text": "Beta"}],
        [{"rss": A, "url": "https://a.example", "name": "Alpha"}, {"feed_url": B, "title": "Beta"}],
        {"feeds": [{"url": A, "title": "Alpha"}, {"feed": B, "title": "Beta"}]},
        {"made": 1, "mine": [{"url": A, "title": "Alpha"}, {"URL": B, "title": "Beta"}]},
        {"resultCount": 2, "results": [{"feedUrl": A, "collectionName": "Alpha"},
                                       {"feedUrl": B, "collectionName": "Beta"}]},
        [{"title": "Alpha", "link": A}, {"title": "Beta", "link": B, "logo": f"{B}.png"}],
        [{"podcast_url": A, "title": "Alpha", "website": "https://a.example"},
         {"title": "Beta", "feed": {"url": B}}],
        {"data": {"tags": ["x"], "podcasts": [{"url": A, "title": "Alpha"},
                                              {"url": B, "title": "Beta"}]}},
        {A: {"title": "Alpha"}, B: {"title": "Beta"}},
        {"feeds": {"a.example": {"url": A, "title": "Alpha"}, "b": {"url": B, "title": "Beta"}}},
        [[{"url": A, "title": "Alpha"}], [], [[{"url": B, "title": "Beta"}]]],
        {"feeds": [[{"url": A, "title": "Alpha"}, {"url": B, "title": "Beta"}]]},
    ],
)  # fmt: skip
def test_json_has_its_feeds_in_any_list_under_any_usual_name(found):
    assert [feed for feed in listed(found) if feed[0]] == BOTH


@pytest.mark.parametrize(
    ("found", "feeds"),
    [
        ([["A", A]], ["", A]), ([[], ["x"]], ["", ""]), ({"feeds": [[A]]}, [A]), ([[[[]]]], [""]),
    ],
)  # fmt: skip
def test_json_array_in_an_array_is_read_as_part_of_it(found, feeds):
    read = feeds_of(found)
    assert [feed.feed_url if "://" in feed.feed_url else "" for feed in read] == feeds


SITE = "https://site.example"
INNER = [{"url": A, "title": "Alpha"}, {"url": B, "title": "Beta", "folder": "Daily"}]
LINES = f"A\n{B}\tT / C"


@pytest.mark.parametrize(
    ("found", "feeds"),
    [
        ([{"": "https://a.example", "podcastUrl": A}], [(A,)]),
        ([{"name": "Site", "url": SITE, "feeds": [A]}], [(A, "", "Site")]),
        ([{"title": "Site", "link": SITE, "feeds": [{"url": A}]}], [(A, "", "Site")]),
        ([{"name": "Site", "feed": "", "feeds": [A]}], [(A, "", "Site")]),
        ([{"title": "Alpha", "url": A, "feeds": []}], [(A, "Alpha")]),
        ([{"title": "News", "feeds": INNER}, {"title": "Empty", "feeds": []}],
         [(A, "Alpha", "News"), (B, "Beta", "Daily"), ("", "Empty")]),
        ({"subscriptions": [{"url": A, "folder": LINES}, {"url": A, "guid": "g"}],
          "titles_and_folders": [{"guid": "g", "folder": LINES}]},
         [(A, "", f"A {B} T / C")] * 2),  # a folder is one line
        ({"add": [A], "remove": [B], "timestamp": 1_700_000_000}, [(A,)]),  # a sync server
        ({"add": [], "remove": [B], "timestamp": 1_700_000_000}, []),
    ],
)  # fmt: skip
def test_json_has_folders_around_feeds_and_lists_what_is_added(found, feeds):
    assert listed(found) == feeds


def test_json_lists_are_judged_once(monkeypatch):
    judged = []
    monkeypatch.setattr(feed_json, "only_address", lambda fields: judged.append(fields) or "")
    found, chain = [*([{}] * 100), A], 1
    for _ in range(50):
        found, chain = {"k": found}, {"feed": chain}
    assert len(feeds_of(found)) == 101
    feeds_of([A, chain])
    assert len(judged) < 1_000


@pytest.mark.parametrize("item", [{"link": A, "see": B}, {"title": "x"}, {"website": A}, 1])
def test_json_without_one_address_in_an_item_is_shown(item):
    (_, refused) = feeds_of([A, item])
    assert refused.feed_url == ""
    assert refused.seen


def test_account_download_gives_feeds_with_titles_and_folders_and_nothing_else():
    other = "https://b.example/played.mp3"
    download = {
        "account": "anna",
        "feeds": [
            {"guid": "new", "feed_url": A, "is_subscribed": True},
            {"guid": "left", "feed_url": B, "is_subscribed": False},
        ],
        "former_guids": [{"guid": "old", "new_guid": "new"}],
        "titles_and_folders": [{"guid": "old", "title": "Alpha", "folder": "News / Daily"}],
        # More than JSON in requests may have.
        "history": [{"entry": {"feed_url": other}, "parts": [0] * 400_000}],
        "episode_actions": [{"podcast": other, "url": other}],
    }
    assert listed(download) == [(A, "Alpha", "News / Daily")]
    doubts = [(feed.guid, feed.doubt) for feed in feeds_of(download)]
    assert doubts == [("new", None), ("left", LEFT)]


def opml(body):
    return f"<opml version='2.0'><body>{body}</body></opml>"


def outline(url, title, more="/"):
    return f'<outline type="rss" text="{title}" xmlUrl="{url}"{more}>'


def folder(name, *inside):
    return f"<outline text='{name}'>{''.join(inside)}</outline>"


EPISODE = (
    '<outline type="podcast-episode" title="1" url="https://a.example/1" enclosureUrl="x"/>'
    '<outline title="2" url="https://a.example/2"/>'
)
EPISODES = f"{EPISODE}{outline(f'{A}/3', '3')}</outline>"
FEEDS = f"{outline(A, 'Alpha')}{outline(B, 'Beta')}"
IN_NEWS = [(A, "Alpha", "News"), (B, "Beta", "News")]


@pytest.mark.parametrize(
    ("body", "feeds"),
    [
        (f"<outline text='playlists'><outline type='podcast-playlist' title='Queue'/></outline>"
         f"<outline text='feeds'>{outline(A, 'Alpha', '')}{EPISODES}"
         f"{outline(B, 'Beta', '')}{EPISODES}</outline>", BOTH),  # Overcast, "All data"
        (f"<outline text='feeds'><outline x=1 1=x>{outline(A, 'Alpha', '')}{EPISODE}</outline>"
         f"{outline(B, 'Beta')}</outline>", BOTH),  # and broken
        (folder("feeds", FEEDS), BOTH),  # Pocket Casts and others
        (folder("feeds", folder("News", FEEDS)), IN_NEWS),
        (folder("feeds", outline(A, "Alpha")) + outline(B, "Beta"),
         [(A, "Alpha", "feeds"), (B, "Beta")]),
        (f"<outline type='rss' title='comics'>{FEEDS}</outline>",  # Flym
         [(A, "Alpha", "comics"), (B, "Beta", "comics")]),
        (f"<outline type='rss' title='a' htmlUrl='x'><outline type='rss' text='b'>{FEEDS}"
         "</outline></outline>", [(A, "Alpha", "a / b"), (B, "Beta", "a / b")]),
        (f"{FEEDS}<outline type='rss' text='lost'/>", [*BOTH, ("", "lost")]),
        (FEEDS + folder("Starred", "<outline type='podcast-episode' url='https://a.example/1'/>"),
         BOTH),
        (folder("News", FEEDS.replace("/>", ">")), IN_NEWS),  # none of them ends
        (folder("News", outline(A, "A"), outline(B, "B", ""), outline(f"{A}/2", "C"),
                outline(f"{B}/2", "D")),  # one of them does not end
         [(A, "A", "News"), (B, "B", "News"), (f"{A}/2", "C", "News"), (f"{B}/2", "D", "News")]),
    ],
)  # fmt: skip
def test_opml_has_its_feeds_in_folders_and_nothing_in_a_feed(body, feeds):
    assert listed(opml(body)) == feeds


INSIDE_A = f"{outline(B, 'Beta')}{folder('Sub', outline(SITE, 'Site'))}"
TECH = f"<outline text='Tech' type='link' url='{SITE}/tech'>"


@pytest.mark.parametrize(
    ("found", "feeds"),
    [
        (opml(f"{outline(A, 'Alpha', '')}{INSIDE_A}</outline>{outline(f'{B}/2', 'C')}"),
         [(A, "", None), (B, "", INSIDE), (SITE, "Sub", INSIDE), (f"{B}/2", "", None)]),
        (opml(f"{outline(A, 'Alpha', '')}{outline(B, 'B', '')}{outline(SITE, 'C')}</outline>"
              "</outline>"), [(A, "", None), (B, "", INSIDE), (SITE, "", INSIDE)]),
        (opml(f"{TECH}{INSIDE_A}</outline>"), [(B, "Tech", None), (SITE, "Tech / Sub", None)]),
        (opml(folder("F", TECH, outline(A, "Alpha"), "</outline>")), [(A, "F / Tech", None)]),
        (opml(f"<outline text='Tech' url='{SITE}/tech'>{folder('Sub', outline(A, 'Alpha'))}"
              f"{outline(B, 'Beta')}</outline>"), [(A, "Tech / Sub", None), (B, "Tech", None)]),
        (opml(f"<outline text='Tech' type='rss' url='{A}'>{outline(B, 'Beta')}</outline>"),
         [(A, "", None), (B, "", INSIDE)]),
        (opml(f"{TECH}<outline type='rss' url='{A}'/></outline>"), [(A, "Tech", None)]),
        (opml(f"<outline text='Tech' type='link' url='{A}'><outline url='{B}'/></outline>"),
         [(A, "", None)]),
        (opml(f'<outline xmlUrl="{A}" subscribed="0"/>'), [(A, "", LEFT)]),
        (opml(f'<outline xmlUrl="{A}" subscribed="1"/>'), [(A, "", None)]),
        (opml(f'<outline type="link" url="{SITE}"/>'), [(SITE, "", LINK)]),
        (opml(f'<outline type="link" url="{A}"/>'), [(A, "", None)]),
        (opml(f'<outline type="link" xmlUrl="{SITE}"/>'), [(SITE, "", None)]),
        ([{"feedUrl": SITE, "feeds": [{"url": B}]}], [(SITE, "", None), (B, "", INSIDE)]),
        ([{"url": A, "feeds": [{"url": B}]}], [(A, "", None), (B, "", INSIDE)]),
        ([{"href": SITE, "description": "Post"}], [(SITE, "", LINK)]),
        ([{"href": A}], [(A, "", None)]),
        ([{"url": SITE}], [(SITE, "", None)]),
        ([{"url": A, "subscribed": False}], [(A, "", LEFT)]),
        ([{"url": A, "isSubscribed": False}], [(A, "", LEFT)]),
        ([{"url": A, "is_subscribed": 0}], [(A, "", LEFT)]),
        ([{"url": A, "subscribed": "no"}], [(A, "", LEFT)]),
        ([{"url": A, "subscribed": True}], [(A, "", None)]),
        ([{"url": A, "subscribed": None}], [(A, "", None)]),
        ({"require": {"x": {"y": 1}}, "repositories": [{"url": SITE}]}, [(SITE, "", LINK)]),
        (f"#EXTM3U\n#EXTINF:1,Alpha\n{A}/1.MP3?x=1#y\n{B}",
         [(f"{A}/1.MP3?x=1#y", "", feed_list._MEDIA), (B, "", None)]),
        (f"{A}?of=1.mp3\n{B}/cover.jpeg",
         [(f"{A}?of=1.mp3", "", None), (f"{B}/cover.jpeg", "", feed_list._MEDIA)]),
    ],
)  # fmt: skip
def test_feed_in_doubt_is_kept_with_the_reason(found, feeds):
    assert [(feed.feed_url, feed.folder, feed.doubt) for feed in feeds_of(found)] == feeds


@pytest.mark.parametrize(
    "slip",
    [
        outline(A, "Alpha", ' description="one"/ language="en"'),
        outline(A, "Alpha", ' description="By <a href="https://x.example" title="x">us</a>."/'),
        outline(A, "Alpha", ' text="Alpha"/'),
        f'<outline text="Alpha xmlUrl="{A}"/>',
        f'<outline text="Alpha" xmlUrl={A} />',
        f'<outline text="Alpha" xmlUrl="{A}"></outlin>',
    ],
)
@pytest.mark.parametrize("before", ["", outline("https://c.example", "C")])
def test_opml_with_one_slip_keeps_titles_and_folders(slip, before):
    body = folder("News", before, slip, outline(B, "Beta"))
    body += folder("Tech", outline(f"{B}/2", "Gamma"))
    assert listed(opml(body))[bool(before) :] == [*IN_NEWS, (f"{B}/2", "Gamma", "Tech")]


@pytest.mark.parametrize(
    "end",
    [
        outline(B, "Beta", ' description="one"/ language="en"'),  # no end of an outline follows
        f"{outline('https://c.example', 'C', '')}{outline(B, 'Beta')}<b></i>",
    ],
)
def test_folder_of_broken_opml_ends_behind_a_feed_that_does_not(end):
    body = folder("News", outline(A, "Alpha"), end) + folder("Tech", outline(f"{B}/2", "Gamma"))
    assert listed(opml(body))[-2:] == [IN_NEWS[1], (f"{B}/2", "Gamma", "Tech")]


def test_own_export_with_a_folder_named_feeds_is_read_back_as_it_was():
    labels = Labels({A: FeedLabel(parse_feed_url(A).guid, "Alpha", "feeds")})
    subscription = Subscription(parse_feed_url(A).guid, A, True, 1)
    written = write_feed_list([subscription], Format.OPML, {}, labels).decode()
    assert listed(written) == [(A, "Alpha", "feeds")]


def test_opml_with_more_folders_in_each_other_than_allowed_keeps_the_outer_ones():
    begin = "".join(f"<outline text='{number}'>" for number in range(100))
    (feed,) = feeds_of(opml(f"{begin}<outline xmlUrl='{A}'/>{'</outline>' * 100}"))
    assert feed.folder.startswith("0 / 1")
    assert len(feed.folder) < 300
