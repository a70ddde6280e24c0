"""Every page, in each of its states and in each language: it renders, and nothing stays English."""

from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from feedkeep import model
from feedkeep.formats.listed_feed import LINK as LINK_DOUBT
from feedkeep.formats.listed_feed import ImportPlan, ListedFeed
from feedkeep.http.pages.forms import Form
from feedkeep.http.pages.languages import DEFAULT_LANGUAGE, LANGUAGES, Localizer, time_zones
from feedkeep.http.pages.notes import Note
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.responses import Refusal
from feedkeep.model import CredentialKind, Failure, Fetch, Scope, Stamp, TokenId, replace
from feedkeep.model.errors import Sentence
from feedkeep.rules.apps import AppKind, AppUse, ConnectedApp
from feedkeep.rules.credentials import apps_that_refuse
from feedkeep.rules.episodes import Playing
from feedkeep.rules.feed_names import WHY, Headline, Trouble
from feedkeep.rules.first_looks import FoundFeed, advice
from feedkeep.rules.list_changes import ChangeKind
from feedkeep.rules.notices import Notice, NoticeKind
from feedkeep.service import Health
from feedkeep.service.migrations import Moving
from feedkeep.web.adding import Missing, Question
from feedkeep.web.apps import GUIDES, NewPassword, ShownApp
from feedkeep.web.changes import Actor, ChangeRow, Line, ShownMassUnsubscribe
from feedkeep.web.feed import About, Duplicate, NotFetched, ShownEpisode
from feedkeep.web.imports import PreviewRow
from feedkeep.web.listening import PlayedEpisode, Show
from feedkeep.web.news import notice_row
from feedkeep.web.rows import Checking, Filter, Group, Listing, Order, row_of

SOURCE = Path(__file__).parents[2] / "src" / "feedkeep"
LOCALE = SOURCE / "http" / "pages" / "locale"

NOW = Stamp(1_790_000_000_000_000)
DAY = 86_400_000_000
COUNTS = model.Counts(1_234, 2, 3)
ZOE = model.Account(model.AccountId(1), "zoë+1", None, False, NOW, is_admin=True, counts=COUNTS)
BEN = replace(ZOE, name="ben", is_admin=False, is_disabled=True, counts=model.Counts(1, 1, 1))
GUID = model.Guid("9b024349-ccf0-5f69-a609-6b82873eab3c")
FEED = model.Subscription(GUID, "https://a.example/1", True, NOW, status_changed=NOW)
GONE = replace(FEED, is_subscribed=False, feed_url="otpauth://1.example")
LISTED = ListedFeed(12, FEED.feed_url, None)
TOO_LONG = Sentence("At most {max} lines fit here: import a longer list.", {"max": 500})
UNUSED = Sentence("")
CODES = ["0a1b-2c3d"] * 10
LINK = "https://f.example/1"

WITHOUT_VALUES = [
    *("nothing-to-take-back", "nothing-chosen", "nothing-changed", "moved", "merged"),
    *("unknown-change", "meant", "kept-apart", "signed-out", "signed-out-others"),
    *("news-address-ended", "new-password", "saved", "linked", "unlinked"),
    *("welcome", "welcome-but", "account-deleted", "withdrawn"),
]
NOTES = {
    "added": [{"name": "a.example/1"}, {"name": "", "count": 1}, {"name": "", "count": 1_234}],
    "already-subscribed": [{"name": "a.example/1"}, {"name": ""}],
    "none-added": [{"refused": 1}, {"refused": 2}],
    "unsubscribed": [{"name": "a.example/1"}, {"name": "", "count": 2}],
    "subscribed": [{"name": "a.example/1"}, {"name": "", "count": 2}],
    "taken-back": [{"count": 1, "left": 1}, {"count": 2, "left": 2, "stamps": "1,2"}],
    "back": [{"count": 1, "left": 0}, {"count": 2, "left": 0, "stamps": "1"}],
    "restored": [{"count": count, "moment": NOW, "stamps": "1"} for count in (1, 2)],
    "deleted": [{"name": "a.example/1"}],
    "filed": [{"name": name, "count": count} for name in ("1", "") for count in (1, 2)],
    "folder-removed": [{"name": "1"}],
    "disconnected": [{"name": "a.example/1"}, {"name": ""}],
    "finished": [{"name": "1.mp3"}],
    **{
        f"account-{action}": [{"name": "ben"}]
        for action in ("admin", "no-admin", "disable", "enable", "delete")
    },
    **{kind: [{}] for kind in WITHOUT_VALUES},
}


def listed(*rows, page=1, pages=1, count=0, folder=None) -> Listing:
    groups = [Group(folder, rows, len(rows))]
    folders, order = ([folder], Order.FOLDER) if folder else ([], Order.TITLE)
    return Listing(groups, order, folders, len(rows), page, pages, count, count)


def row(feed):
    return row_of(feed, None, NOW)


def app(kind: AppKind, scope: Scope, last_used: int | None, name: str = "1") -> ConnectedApp:
    return ConnectedApp([TokenId(1)], name, kind, NOW, last_used and Stamp(NOW - last_used), scope)


FAILING = Headline(FEED.guid, "1", "1", Stamp(0), 9, Failure.GONE, newest=Stamp(0))
ODD = replace(row_of(FEED, FAILING, NOW, is_twice=True), is_withheld=True)
NEWS_ROWS = [
    notice_row(Notice(kind, NOW, "1", name, FEED.guid, 2))
    for kind in NoticeKind
    for name in ("a.example/1", "")
    if name or kind not in {NoticeKind.UNREADABLE, NoticeKind.MOVED}
]
FEEDS = {
    "listing": listed(row(FEED)), "shown": Filter.SUBSCRIBED, "is_subscribed": True,
    "is_grid": False, "folder": "", "max_folder": 200, "query": "", "view": [("order", "title")],
    "stamp": NOW, "subscribed_count": 1_234, "unsubscribed_count": 1, "mass_unsubscribe": None,
    "checking": None, "news": [], "more_news": 0, "news_until": 0, "now": NOW,
}  # fmt: skip
UNSUBSCRIBED = {"is_subscribed": False, "shown": Filter.UNSUBSCRIBED}
NAME = "a.example/1"
CHANGES = [ChangeRow(what, FEED.guid, NAME, "b.example/1") for what in ChangeKind]
DOERS = [
    Actor(None),
    Actor(CredentialKind.BROWSER, "Chrome"),
    Actor(CredentialKind.COMMAND),
    Actor(CredentialKind.FEEDKEEP),
    Actor(CredentialKind.TOKEN),
    Actor(CredentialKind.SESSION, "AntennaPod", "1"),
    Actor(CredentialKind.PASSWORD, "gPodder"),
]
MERGED = ChangeRow(ChangeKind.MERGED, None, NAME, "")
LINES = [
    *(Line([NOW], DOERS[0], [(one.what, 1)], [one], 1) for one in CHANGES),
    *(Line([NOW], doer, [(what, 1) for what in ChangeKind], CHANGES, 9) for doer in DOERS),
    Line([NOW, Stamp(NOW - DAY)], DOERS[0], [(what, 2) for what in ChangeKind], CHANGES, 1_234),
    Line([NOW], DOERS[0], [(ChangeKind.MERGED, 1)], [MERGED], 1),
    Line([NOW], DOERS[0], [], [], 0),
]
WIPES = [
    ShownMassUnsubscribe([NOW], doer, CHANGES[:1], total)
    for doer in DOERS
    for total in (1, 2, 1_234)
]
PLAYED = PlayedEpisode(
    "1.mp3", "", row_of(FEED, None, NOW), True, 60, 90, False, NOW, DOERS[0], "x"
)
LISTENING = {
    "episodes": [
        *(replace(PLAYED, who=doer) for doer in DOERS),
        replace(PLAYED, is_finished=True, is_listed=False, mark=""),
        replace(PLAYED, length=0, mark="", feed=ODD),
    ],
    "show": Show.IN_PROGRESS, "before": "", "earlier": "", "is_new": False, "now": NOW,
}  # fmt: skip
HISTORY = {
    "lines": LINES, "days": 90, "mass_unsubscribe": None, "is_newest": True, "has_more": False,
    "known_from": NOW, "is_all": True, "now": Stamp(NOW + DAY),
}  # fmt: skip
CHANGED_SINCE = {
    "lines": LINES, "more": 1, "count": 1, "others": 1, "stamps": "1", "guids": [GUID],
    "back": "/", "now": NOW,
}  # fmt: skip
RESTORE = {
    "days": 90, "known_from": NOW, "now": NOW, "moment": None, "counts": None, "ahead_until": None,
}  # fmt: skip
NO_CHANGES = {"counts": [0, 0, 0], "back": [], "gone": [], "others": []}
SOME = dict.fromkeys(("back", "gone", "others"), CHANGES[:1])
PREVIEWED = RESTORE | SOME | {"moment": NOW, "keep_added": True, "counts": [1, 1, 1]}
ACCOUNT = {
    "is_fresh": False, "codes_left": 1, "languages": LANGUAGES, "zones": time_zones()[:3],
    "preferences": model.Preferences("de", "Europe/Berlin", "dark"),
}  # fmt: skip
LOGIN = {
    "app": "1", "problem": "", "secret": "1", "name": "", "is_read_only": False, "signed_in": "",
    "here": "/1?begun=1", "other": "/1?begun=1&other=1",
}  # fmt: skip
FEED_PAGE = {
    "feed": FEED, "row": row_of(FEED, None, NOW), "title": "Zoë's", "folder": "A / B",
    "folders": ["1"], "max_title": 200, "max_folder": 200, "there": None, "episodes": [],
    "about": About(not_fetched=NotFetched.SOON), "duplicates": [], "former_guids": [GUID],
    "former_urls": ["https://b.example"], "lines": LINES[:1], "guids": [GUID], "has_more": True,
    "now": NOW,
}  # fmt: skip
EPISODES = [
    ShownEpisode("1", link, published, length, playing)
    for link, published, length, playing in [
        ("https://a.example/1", NOW, 60, None), ("", None, None, Playing(9)),
        ("", NOW, 60, Playing(9, 60)), ("", NOW, 60, Playing(60, 60)),
    ]
]  # fmt: skip
ADDRESSES = ["https://a.example/named", "https://a.example/also"]
PAGE = About(looked=NOW, trouble=Trouble(NOW, WHY[Failure.NOT_A_FEED]), is_page=True)
KNOWN = About(
    "1", "https://a.example", "de-AT", "2", None, NOW, Stamp(NOW - DAY), NOW, "a.example", NOW,
    moved_to="https://c.example/1", was_read=True,
)  # fmt: skip
TWINS = [Duplicate(GUID, LINK, GUID, "3", LINK, kept) for kept in (True, False)]
HEALTHY = Health("1.2.3", "1", 12_345_678, True, None, 1_234)
INVITED = model.Token(TokenId(1), b"", "", NOW, expires=NOW)
PEOPLE = {
    "people": [model.Person(*one) for one in ((ZOE, None), (BEN, NOW), (BEN, Stamp(NOW - DAY)))],
    "has_more": True, "is_part": True, "beginning": "", "invitations": [(ZOE, INVITED)],
    "registration": "invited", "now": NOW, "health": HEALTHY, "fetch": Fetch.PUBLIC,
}  # fmt: skip
IMPORT = {"max_bytes": 1_048_576, "count": 1_234, "can_move": True, "columns": ()}
IMPORT |= {"moving": None, "is_moving": False}
MOVING = Moving("a.example", NOW, 1_234)
DOUBTED = PreviewRow("1", "a.example", "2", LINK_DOUBT)
PREVIEW = {
    "plan": ImportPlan([LISTED], [LISTED], [LISTED], [(LISTED, TOO_LONG)]), "notes": [TOO_LONG],
    "new": [LISTED, LISTED], "new_rows": [DOUBTED, PreviewRow("1", "", "", None)],
    "known_rows": [PreviewRow("1", "", "2", None)], "source": "", "list": LISTED.feed_url,
    "known_list": LISTED.feed_url, "labels": 1, "shown": 1,
}  # fmt: skip
NOTHING_NEW = PREVIEW | {"plan": ImportPlan([], [], [LISTED, LISTED], []), "new": []}

USES = [AppUse("", None), AppUse("1", NOW)]
TOKEN = app(AppKind.TOKEN, Scope.WRITE, DAY)
USED_APP = ShownApp(app(AppKind.TOKEN, Scope.WRITE, 1), "1")
SHOWN_APPS = [
    ShownApp(app(AppKind.PASSWORD, Scope.READ, None, ""), ""),
    ShownApp(app(AppKind.NEXTCLOUD, Scope.WRITE, 0), "1", is_silent=True),
    ShownApp(TOKEN, "1", USES, sent=1, sent_at=NOW),
    ShownApp(TOKEN, "1", sent=2, sent_at=NOW),
]
CONNECTED = {"made": None, "app": None, "server": LINK, "now": NOW, "qr": lambda _: "data:"}
GUIDE = {"base_path": "/feedkeep", "refusing": apps_that_refuse("zoë+ł")}
MISSING = Missing("https://a.example/1", TOO_LONG, TOO_LONG)
SIGN_IN = {"is_new": False, "next": "/", "is_open": False}
FOUND = [FoundFeed("2", "3", has_enclosures=True), FoundFeed("4")]
ADD = {"questions": [Question("1", FOUND)], "missing": [MISSING], "shown": 20}
ADD |= {"can_add_anyway": True, "advice": [TOO_LONG]}


def states(usual, *changes):
    return [usual, *(usual | change for change in changes)]


def wrong(*names):
    return {"problems": dict.fromkeys(names, TOO_LONG)}


LISTED_ODD = {"listing": listed(ODD, folder="1"), "folder": "1", "is_grid": True} | wrong("name")
STATES = {
    "shared/problem.html": [
        *(
            {"refusal": Refusal(status, ""), "request_id": "1", "for_administrators": False}
            for status in (400, 401, 403, 404, 410, 413, 429, 500, 503)
        ),
        {"refusal": Refusal(403, ""), "for_administrators": True, "account": BEN},
    ],
    "nextcloud/login.html": [
        *(
            LOGIN | {"state": state, "is_read_only": is_read_only}
            for state in ("granted", "too-old", "used", "asking")
            for is_read_only in (False, True)
        ),
        LOGIN | {"state": "asking", "provider": "1", "password_login": False},
        LOGIN | {"state": "asking", "signed_in": "ben"},
    ],
    "web/account.html": states(
        ACCOUNT,
        {"codes_left": 0} | wrong("name", "new_password"),
        {"provider": "1"} | wrong("provider"),
        {"provider": "1", "account": replace(ZOE, identity=b"1")},
        {"provider": "1", "types_password": False},
    ),
    "web/apps.html": [{"apps": apps, "now": NOW} for apps in ([], SHOWN_APPS)],
    "web/codes.html": [{}, {"note": Note("codes", {"codes": CODES})}],
    "web/connect.html": [{}],
    "web/connected.html": states(
        CONNECTED,
        *({"made": NewPassword(TokenId(1), "2", kind, "1")} for kind in GUIDES),
        {"made": NewPassword(TokenId(1), "2", "kasts", ""), "app": USED_APP},
    ),
    "web/disconnect.html": [
        {"app": ShownApp(app(kind, Scope.WRITE, None), name)}
        for kind, name in ((AppKind.PASSWORD, ""), (AppKind.TOKEN, "1"))
    ],
    "web/add.html": states(
        ADD,
        {"questions": [], "can_add_anyway": False},
        {"questions": [], "missing": [Missing("1", WHY[Failure.GONE])]},
        *({"missing": [MISSING] * count} for count in (0, 2, 22)),
        *(
            {"advice": [advice(f"https://{host}", Failure.NOT_A_FEED)]}
            for host in ("open.spotify.com", "podcasts.apple.com", "a.example")
        ),
    ),
    "web/feed.html": states(
        FEED_PAGE,
        {"about": replace(PAGE, advice=TOO_LONG)},
        *({"about": About(not_fetched=why)} for why in NotFetched),
        {"about": About(not_fetched=NotFetched.PERSONAL, can_permit=True)},
        *({"about": replace(PAGE, page_feeds=ADDRESSES[:n])} for n in range(3)),
        *({"about": KNOWN, "row": ODD, "there": one} for one in (None, GONE, FEED)),
        *({"about": replace(KNOWN, trouble=Trouble(NOW, why))} for why in WHY.values()),
        {"about": replace(KNOWN, moved_to="", by_https="https://a.example/1")},
        {"about": KNOWN, "duplicates": TWINS, "episodes": EPISODES},
        {"feed": GONE} | wrong("new_url", "other_url"),
    ),
    "web/feeds.html": states(
        FEEDS,
        UNSUBSCRIBED | {"listing": listed(row(GONE))},
        *(
            {"shown": show, "listing": listed(ODD, count=count)}
            for show in (Filter.SUBSCRIBED, Filter.FAILING, Filter.TWICE)
            for count in (1, 2)
        ),
        *({"shown": show, "listing": listed()} for show in (Filter.FAILING, Filter.TWICE)),
        {"listing": listed(), "query": "x"},
        {"listing": listed(replace(row(FEED), newest=NOW, episode="1"))},
        {"checking": Checking(1, 1_234)},
        *({"news": NEWS_ROWS, "more_news": more} for more in range(3)),
        {"listing": listed()},
        {"listing": listed(), "is_subscribed": False},
        {"listing": listed(), "folder": "/"},
        LISTED_ODD,
        LISTED_ODD | {"listing": listed(ODD, folder="")},
        {"subscribed_count": 0, "unsubscribed_count": 0},
        {"listing": listed(row(FEED), page=2, pages=1_234)},
        {"problems": {"urls": [("x", TOO_LONG)] * 22, "list": TOO_LONG}},
        *({"note": Note(kind, v)} for kind, values in NOTES.items() for v in values),
    ),
    "web/changed_since.html": states(
        CHANGED_SINCE, {"more": 2, "count": 2, "others": 2}, {"others": 0}
    ),
    "web/listening.html": states(
        LISTENING,
        {"show": Show.FINISHED, "earlier": "/listening?before=1.1"},
        wrong("episode"),
        *({"episodes": [], "show": show} for show in Show),
        {"episodes": [], "before": "1.1"},
        {"episodes": [], "is_new": True},
    ),
    "web/history.html": [
        *states(HISTORY, *({"mass_unsubscribe": wipe} for wipe in WIPES)),
        HISTORY | {"is_all": False, "is_newest": False, "days": 1},
        HISTORY | {"has_more": True} | wrong("undo"),
        HISTORY | {"lines": []},
        HISTORY | {"lines": [], "is_newest": False},
        {"lines": [], "days": 0, "mass_unsubscribe": None},
    ],
    "web/restore.html": [
        *states(RESTORE, {"days": 0}, {"moment": NOW} | wrong("moment")),
        *states(
            PREVIEWED,
            {"counts": [3, 2, 1_234], "keep_added": False, "ahead_until": NOW},
            NO_CHANGES,
            NO_CHANGES | {"keep_added": False},
        ),
    ],
    "web/guide.html": [
        GUIDE | {"app": kind, "name": name, "server": server} | wrong("label", "password")
        for kind, name in GUIDES.items()
        for server in (LINK, "http://f.example")
    ],
    "web/import.html": states(
        IMPORT,
        {"count": 0, "can_move": False} | wrong("file"),
        {"moving": MOVING, "is_moving": True},
        {"moving": replace(MOVING, is_done=True)},
        {"moving": replace(MOVING, problem="x")} | wrong("server"),
        {"moving": MOVING},
        {"columns": ["x", "y"]} | wrong("column"),
    ),
    "web/import_preview.html": [
        *states(PREVIEW, {"shown": 0, "notes": ()}),
        *states(NOTHING_NEW, {"labels": 0}, {"labels": 0, "source": "x"}),
    ],
    "web/link.html": [
        {"note": note, "qr": lambda _: "data:", "is_loopback": True}
        for note in (
            None,
            *(
                Note("link", {"kind": kind, "name": name, "link": LINK})
                for kind, name in (("reset", "ben"), ("invitation", "ben"), ("invitation", ""))
            ),
        )
    ],
    "web/link_ended.html": [{"kind": "reset"}, {"kind": "invitation"}, {"kind": "off"}],
    "web/news.html": [
        {"rows": rows, "has_address": has, "now": NOW, "note": note}
        for rows, has, note in (
            ([], False, None),
            (NEWS_ROWS, True, None),
            (NEWS_ROWS, True, Note("news-address", {"link": LINK})),
        )
    ],
    "web/people.html": states(
        PEOPLE,
        {"registration": "closed", "invitations": []},
        {"health": Health("1.2.3", "1", 12_345_678, True, NOW, 1_234)},
        {"health": Health("1.2.3", "1", 12_345_678, False, None, 1_234)},
        {"has_more": False, "is_part": False, "fetch": Fetch.OFF},
        {"people": [], "has_more": False, "beginning": "zo", "fetch": Fetch.ALL},
    ),
    "web/person.html": [{"person": one, "is_fresh": False} | wrong("action") for one in (ZOE, BEN)],
    "web/provider.html": [{"provider": "1", "url": "https://auth.example/?a=1&b=2"}],
    "web/recover.html": [{}, {"problems": {"code": UNUSED}}, wrong("code")],
    "web/reset.html": states({"name": "ben"}, wrong("password")),
    "web/sign_in.html": states(
        SIGN_IN,
        {"is_open": True, "problems": {"password": UNUSED}},
        {"is_new": True},
        {"next": "/1", "provider": "1"},
        {"provider": "1", "password_login": False} | wrong("provider"),
    ),
    "web/sign_up.html": states(
        {"is_first": True, "max": 64}, {"is_first": False} | wrong("name", "password")
    ),
}
"""Context of each page's template, in each state that has texts of its own."""

WEB_PARTS = ("base", "changes", "episodes", "parts", "steps")
PARTS = {"shared/layout.html", *(f"web/{name}.html" for name in WEB_PARTS)}
"""Templates that others include."""


class Texts(HTMLParser):
    """Collects the texts of a page, and those of attributes."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.tags = set(), set()
        self.feed(html)
        self.close()

    def handle_data(self, data):
        self.texts.add(data.strip())

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.texts.update((value or "").strip() for name, value in attrs if name != "value")


@cache
def translations(language: str) -> dict[str, str]:
    """Return the translations of the texts that have no plural; of English, none."""
    if language == DEFAULT_LANGUAGE:
        return {}
    with (LOCALE / f"{language}.po").open("rb") as file:
        catalogue = read_po(file, locale=language)
    return {m.id: m.string for m in catalogue if m.id and isinstance(m.id, str)}


@cache
def rendered(template: str, language: str) -> list[str]:
    """Return a page in each of its states."""
    given = {
        "account": ZOE, "problems": {}, "typed": Form(), "note": None, "is_fresh": True,
        "provider": "", "password_login": True, "types_password": True,
    }  # fmt: skip
    words = Localizer(language, "Europe/Berlin")
    return [PAGES.render(template, words, **given | state) for state in STATES[template]]


PAGES = Pages()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("template", STATES)
def test_page_renders_in_its_language_and_no_text_stays_english(template, language):
    texts = translations(language)
    english = {text for text in texts if text not in texts.values()}
    for html in rendered(template, language):
        assert f'<html lang="{language}"' in html
        assert "%(" not in html
        page = Texts(html)
        assert {"h1", "main"} <= page.tags
        assert not page.texts & english


def test_every_template_is_rendered_and_all_that_it_says_is_said_by_some_state():
    """Else a state of a page is missing here."""
    rooms = {"http": "shared", "nextcloud": "nextcloud", "web": "web"}
    files = list(SOURCE.glob("**/templates/*.html"))
    assert set(STATES) | PARTS == {
        f"{rooms[file.relative_to(SOURCE).parts[0]]}/{file.name}"
        for file in files
        if not {"trial", "openpodcast"} & set(file.parts)  # for developers, in English alone
    }
    said = "".join(html for name in STATES for html in rendered(name, "de"))
    templates = "".join(file.read_text() for file in files)
    for text, translation in translations("de").items():
        marked = f"{{% trans %}}{text}{{% endtrans %}}"
        if marked in templates and "<" not in text:
            assert translation.replace("&", "&amp;") in said, text
