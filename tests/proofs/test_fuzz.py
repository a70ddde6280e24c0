"""No request causes a server error or reveals internals, whatever its bytes.

Whole HTTP requests are mutated: flipped, cut, doubled and spliced, heads and bodies alike.
"""

import asyncio
import json
import random
import re
import time
from collections import Counter
from itertools import product

import httpx
import pytest
from forms import IS_FULL, first_of, in_the_long_form
from route_table import all_pages, all_routes, names_of, path_of

SENDERS = 32
PASSWORD = "correct horse battery"
STATUSES_OF_PROTOCOLS = {b"200", b"400", b"401", b"403", b"404", b"405"}
SECONDS_FOR_AN_ANSWER = 0.5
SECONDS_FOR_A_GOOD_ANSWER = 30
INSIDE = re.compile(
    rb"(?-i:SELECT |INSERT |UPDATE )|Traceback|sqlite|postgres|apsw|asyncpg|falcon|uvicorn|python"
    rb"|\.py\b|/usr|/home|/tmp|object at 0x|\w+(?:Error|Exception)\b",
    re.IGNORECASE,
)
GUID = "00000000-0000-4000-8000-000000000001"
CUT = b"cut"
FORM = "application/x-www-form-urlencoded"
WORTH_TRYING = [
    b"\r\n", b"\n", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"%00", b"%ff", b"..", b"/v1", b"'",
    b'"', b"\\ud800", b"[" * 2_000, b'{"a":' * 500, b"9" * 400, b"-1", b"1e999", b"NaN", b"null",
    b"\xe2\x80\xae", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n",
    b"Content-Length: -1\r\n", b"Expect: 100-continue\r\n",
    b"Upgrade: h2c\r\nConnection: Upgrade\r\n", b"HEAD ", b"PATCH ", b"If-None-Match: *\r\n",
    b"If-None-Match: W/\"\r\n", b"Origin: null\r\n", b"Host: [::1\r\n", b"Host: a b\r\n",
    b"X-Forwarded-For: ,,\r\n", b"Content-Encoding: gzip\r\n", b"HTTP/1.0", b"HTTP/9.9",
    b"page=0", b"per_page=99999999999999999999", b"since=9999-99-99",
    b"since=2026-01-01T00:00:00%2B99:99", b"after=x", b"?", b"&", b"#", b"Basic ", b"Bearer ",
    b"\xc3\xa9", b"0\r\n\r\n", b"ffffffffffffffff\r\n",
]  # fmt: skip
# Invalid names in paths: PostgreSQL cannot store or index them, or people cannot read them.
IN_PATHS = ["a%00b", "x" * 7_000, "%cc%81" * 1_500, "a%0ab", "a%c2%85b"]


def requests(token, name):
    """Return a good request of each kind, by an account's token."""
    headers = [
        f"Authorization: Bearer {token}",
        "Cookie: sessionid=fs_x; feedkeep_login=x",
        "Content-Type: application/json",
        "X-Forwarded-For: 192.0.2.1",
        'If-None-Match: "x"',
    ]
    kinds = [*_requests_of_the_interface(), *_requests_of_apps(name)]
    return [_written(*kind, *headers) for kind in kinds]


def _requests_of_the_interface():
    items = [{"feed_url": "https://a.example/feed?x=1", "guid": GUID}, {"feed_url": "ftp://b"}]
    changes = {"new_feed_url": "https://c.example", "new_guid": GUID, "is_subscribed": True}
    return [
        ("GET", "/subscriptions?since=2026-01-01T00:00:00.000001Z&page=1&per_page=50", ""),
        ("GET", f"/v1/subscriptions/{GUID}", ""),
        ("POST", "/subscriptions", {"subscriptions": items}),
        ("PATCH", f"/subscriptions/{GUID}", changes),
        ("DELETE", f"/subscriptions/{GUID}", ""),
        ("GET", "/deletions/1", ""),
        ("GET", "/history?before=1795246305500921&per_page=50", ""),
        ("POST", "/v1/history/1795246305500921/undo", {"guids": [GUID], "changed_since": "leave"}),
        ("GET", "/restore?at=2026-01-01T00:00:00Z&keep_added=false", ""),
        ("POST", "/restore", {"at": "2999-01-01T00:00:00Z", "keep_added": False}),
        ("GET", "/readyz", ""),
        ("GET", "/openapi.json", ""),
        ("GET", "/docs/gpodder.json", ""),
    ]


def _requests_of_apps(name):
    nextcloud, flow = "/index.php/apps/gpoddersync", f"/index.php/login/v2/flow/{'0a' * 32}?app=x"
    changes = {"add": ["https://a.example/feed?x=1", "ftp://b"], "remove": ["https://c.example"]}
    action = {
        "podcast": "https://a.example/feed", "episode": "https://a.example/1.mp3", "guid": "1",
        "device": "phone", "action": "play", "timestamp": "2026-01-02T07:30:00Z", "started": 0,
        "position": 120, "total": 300,
    }  # fmt: skip
    settings = f"/api/2/settings/{name}"
    return [
        ("POST", f"/api/2/auth/{name}/login.json", ""),
        ("POST", f"/api/2/auth/{name}/logout.json", ""),
        ("GET", f"/api/2/devices/{name}.json", ""),
        ("POST", f"/api/2/devices/{name}/phone.json", {"caption": "Zoë", "type": "mobile"}),
        ("POST", f"/api/2/sync-devices/{name}.json", {"synchronize": [["phone", "laptop"]]}),
        ("GET", f"/api/2/subscriptions/{name}/phone.json?since=1790000000", ""),
        ("POST", f"/api/2/subscriptions/{name}/phone.json", changes),
        ("GET", f"/api/2/updates/{name}/phone.json?since=0&include_actions=true", ""),
        ("GET", f"/api/2/episodes/{name}.json?since=1&device=phone&aggregated=true", ""),
        ("POST", f"/api/2/episodes/{name}.json", [action, action | {"timestamp": 1.5}]),
        ("GET", f"{settings}/podcast.json?podcast=https%3A%2F%2Fa.example", ""),
        ("POST", f"{settings}/device.json?device=x", {"set": {"a": [1.5]}, "remove": ["b"]}),
        ("GET", f"/subscriptions/{name}.opml", ""),
        ("PUT", f"/subscriptions/{name}/phone.json", ["https://a.example/feed"]),
        ("PUT", f"/subscriptions/{name}/phone.opml", "<opml><body><outline xmlUrl='https://d'/>"),
        ("PUT", f"/subscriptions/{name}/phone.txt", "https://a.example\nhttps://b.example\n"),
        ("GET", "/search.json?q=x", ""),
        ("GET", "/clientconfig.json", ""),
        ("POST", "/index.php/login/v2", ""),
        ("POST", "/index.php/login/v2/poll", "token=x"),
        ("GET", flow, ""),
        ("POST", flow, f"secret=x&name={name}&password=x"),
        ("GET", f"{nextcloud}/subscriptions?since=0", ""),
        ("POST", f"{nextcloud}/subscription_change/create", changes),
        ("GET", f"{nextcloud}/episode_action?since=0", ""),
        ("POST", f"{nextcloud}/episode_action/create", [action]),
    ]


def _written(method, path, body, *headers):
    content = (body if isinstance(body, str) else json.dumps(body)).encode()
    length = f"Content-Length: {len(content)}"
    lines = [f"{method} {path} HTTP/1.1", "Host: feeds.example", *headers, length]
    return "\r\n".join([*lines, "", ""]).encode() + content


def requests_of_pages(session):
    """Return a good form of each kind, and a request of each page, by a browser's session."""
    guids = f"feed={GUID}&feed={GUID}&only={GUID}&show=unsubscribed"
    upload = (
        '--x\r\nContent-Disposition: form-data; name="file"; filename="a.opml"\r\n'
        "Content-Type: text/xml\r\n\r\n<opml><body><outline xmlUrl='https://d'/></body></opml>\r\n"
        '--x\r\nContent-Disposition: form-data; name="text"\r\n\r\nhttps://e\r\n--x--\r\n'
    )
    forms = {
        "/feeds/add": "urls=https%3A%2F%2Fa.example%0D%0Ab.example",
        "/feeds/unsubscribe": guids,
        "/feeds/subscribe": guids,
        "/feeds/file": f"{guids}&to=News+%2F+Daily",
        "/feeds/rename-folder": "folder=News&name=Daily",
        "/feeds/remove-folder": "folder=News",
        "/changes/undo": f"stamps=1%2C9999999999999999&guid={GUID}&when=leave&back=%2Fchanges",
        "/changes/meant": "stamps=1%2C2&back=%2F",
        "/changes/restore": "at=9999999999999999&keep=0",
        f"/feeds/{GUID}/move": "new_url=https%3A%2F%2Fc.example&tell_apps=1",
        f"/feeds/{GUID}/merge": "other_url=https%3A%2F%2Fc.example",
        f"/feeds/{GUID}/apart": f"other={GUID}",
        f"/feeds/{GUID}/delete": "",
        "/import": upload,
        "/import/carry-out": "boxes=1&take=0&list=https%3A%2F%2Fa.example%20" + GUID,
        "/import/from": "server=a.example&name=x&password=x",
        "/import/from/carry-out": "source=gAAAAA&list=https%3A%2F%2Fa.example",
        "/listening/finished": f"episode={GUID}.{'0' * 20}&show=finished&before=1.1",
        "/news/dismiss": "until=1",
        "/news/address": "password=x",
        "/news/address/end": "",
        "/apps/connect/antennapod": "label=x&scope=read",
        "/apps/disconnect": "id=1",
        "/account/preferences": "language=de&time_zone=Europe%2FBerlin&theme=dark",
        "/account/codes": "password=x",
        "/account/delete": "name=x&password=x",
        "/sign-in": "name=x&password=x&next=%2Fapps",
        "/sign-up": "name=x&password=x",
        "/recover": "name=x&code=aaaa-bbbb-cccc-dddd&password=x",
        "/reset": "password=x",
        "/people/invite": "label=x",
        "/people/change": "name=x&action=delete&typed=x",
    }
    pages = [
        "/", "/?q=a&order=added&page=2&show=unsubscribed", "/?folder=News&order=folder&view=grid",
        "/feeds/changed?since=1",
        f"/feeds/{GUID}", "/changes", "/changes?before=1", "/changes/restore?at=1&keep=0",
        "/listening?show=all&before=1.1",
        "/changes/restore?moment=2026-01-31T12%3A00", "/import", "/export/opml", "/apps",
        "/apps/connect/gpodder", "/apps/connected", "/account", "/account/download",
        "/account/codes", "/people", "/news", "/news/fn_x.atom", "/apps/disconnect?id=1",
        "/feeds/changed?since=1&checked=1", "/?url=x&text=y", "/manifest.webmanifest",
        "/sign-in?next=%2Fapps", "/sign-up/fi_x", "/reset/fr_x", "/static/style.css", "/nowhere",
    ]  # fmt: skip
    asked = [("POST", path, body) for path, body in forms.items()]
    asked += [("GET", path, "") for path in pages]
    headers = [
        f"Cookie: feedkeep={session}; feedkeep_note=eyJraW5kIjoic2F2ZWQifQ; feedkeep_reset=x;"
        " feedkeep_new_password=gAAAAA",
        "Accept: text/html",
        "Accept-Language: de;q=0.9, fr",
        "Sec-Fetch-Site: same-origin",
    ]
    parts = "multipart/form-data; boundary=x"
    kinds = [parts if body.startswith("--x") else FORM for _, _, body in asked]
    return [
        _written(*one, *headers, f"Content-Type: {kind}")
        for one, kind in zip(asked, kinds, strict=True)
    ]


def mutated(chance, good):
    data = bytearray(chance.choice(good))
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        place = chance.randrange(len(data) + 1)
        end = min(len(data), place + chance.randrange(1, 40))
        match chance.randrange(6):
            case 0:
                data[place:place] = chance.choice(WORTH_TRYING)
            case 1:
                data[place:end] = chance.choice(WORTH_TRYING)
            case 2:
                del data[place:end]
            case 3:
                data[place:place] = data[place:end]
            case 4 if place < len(data):
                data[place] ^= 1 << chance.randrange(8)
            case _:
                other = chance.choice(good)
                data[place:] = other[chance.randrange(len(other)) :]
    return bytes(data)


async def answers(address, sent, patience_seconds):
    """Return all that bytes are answered: nothing if more is waited for, `CUT` after a hang-up."""
    reader, writer = await asyncio.open_connection(*address)
    got = b""
    try:
        writer.write(sent)
        async with asyncio.timeout(patience_seconds):
            while piece := await reader.read(65_536):
                got += piece
                if is_whole(got):
                    break
            got = got or CUT
    except (TimeoutError, ConnectionError):
        pass
    writer.transport.abort()
    return got


async def patience(address, good):
    """Return for how many seconds to wait for an answer on a machine as busy as this one is now."""
    began = time.monotonic()
    asked = (answers(address, good, SECONDS_FOR_A_GOOD_ANSWER) for _ in range(SENDERS))
    assert all(await asyncio.gather(*asked))
    return max(SECONDS_FOR_AN_ANSWER, 2 * (time.monotonic() - began))


def is_whole(got):
    head, end, body = got.partition(b"\r\n\r\n")
    length = length_of(head)
    return bool(end and length is not None and len(body) >= length)


def length_of(head):
    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return int(found[1]) if found else None


def complaints(sent, got):
    """Return the faults of a reply to any request."""
    found = []
    head, _, body = got.partition(b"\r\n\r\n")
    if head and not re.match(rb"HTTP/1\.[01] [1-4]\d\d ", head):
        found.append(f"{sent!r} gave {got!r}")
    if re.match(rb"HTTP/1\.[01] 4", head) and is_whole(got) and body:
        length = length_of(head)
        if not is_page(head) and not is_error(body[:length], head.split()[1].decode()):
            found.append(f"{sent!r} gave an error of another shape: {body!r}")
        told = re.sub(rb"<[^>]*>", b" ", body) if is_page(head) else body[:length]  # no <select>
        if INSIDE.search(told):
            found.append(f"{sent!r} gave a look inside: {body!r}")
    if re.search(rb"^server:", head, re.IGNORECASE | re.MULTILINE):
        found.append(f"the server tells its name: {head!r}")
    return found


def is_page(head):
    """Whether a reply is the login page, which says to people what was wrong."""
    return b"text/html" in head and b"content-security-policy: default-src 'none';" in head


def is_error(body, status):
    try:
        told = json.loads(body)
    except ValueError:
        return False
    return set(told) == {"code", "message"} and told["code"] == status


def session_of(process, name):
    return process.use(lambda service: service.page_sessions.sign_in(name, PASSWORD, "", "")).text


async def prove(process, count, seed, kind="protocols"):
    """Send mutated requests of apps, or of browsers; return all that was wrong."""
    url = httpx.URL(process.base_url)
    name, chance = process.new_account(PASSWORD), random.Random(seed)
    good, expected = requests(process.new_token(name), name), STATUSES_OF_PROTOCOLS
    if kind == "pages":
        good = requests_of_pages(session_of(process, name))
        expected = {b"200", b"303", b"400", b"403", b"404"}
    found, statuses = [], Counter()
    address = url.host, url.port
    seconds = await patience(address, good[0])

    async def send(number):
        for _ in range(number):
            sent = mutated(chance, good)
            got = await answers(address, sent, seconds)
            statuses[got[9:12]] += 1
            found.extend(complaints(sent, got))

    await asyncio.gather(*(send(count // SENDERS) for _ in range(SENDERS)))
    assert statuses.total() - statuses[b""] > count // 2, statuses
    assert expected <= statuses.keys(), statuses
    ready = await asyncio.to_thread(httpx.get, f"{process.base_url}/readyz")
    assert ready.status_code == 200
    lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    return found + [str(line) for line in lines if line["level"] not in {"info", "warning"}]


@pytest.mark.parametrize("kind", ["protocols", "pages"])
async def test_no_bytes_make_a_server_error(start, store_kind, amount, kind):
    seed = time.time_ns() if IS_FULL else 7
    found = await prove(start(store_kind), amount(200, 100_000, 1_200), seed, kind)
    assert found == [], f"with the seed {seed}"


def in_each_place(user):
    """Yield each method and path with something hostile for a name, and whether it is a page."""
    values = {"user": user, "device": "phone", "name": "x", "format": "json", "guid": GUID}
    values |= {"count": "1", "scope": "account", "login": "0a" * 32}
    for target in (*all_routes(), *all_pages()):
        for name, hostile in product(names_of(target.path), IN_PATHS):
            path = path_of(target.path, {**values, name: hostile})
            for method in target.route.methods:
                yield method, path, target.edge.is_for_own_pages


@pytest.mark.parametrize("store_kind", first_of("postgres, 2 workers", "sqlite"))
def test_nothing_in_a_path_makes_a_server_error(start, store_kind):
    process = start(store_kind)
    name = process.new_account(PASSWORD)
    process.use(lambda service: service.accounts.set_admin(name, True))
    session = f"feedkeep={session_of(process, name)}"
    cookie = {"Cookie": session, "Sec-Fetch-Site": "same-origin"}
    with process.client(name) as app, httpx.Client(base_url=process.base_url) as browser:
        # Of an app that is told of a change, the store is asked by its device.
        changes = {"add": ["https://a.example/feed"]}
        app.post(f"/api/2/subscriptions/{name}/phone.json", json=changes).raise_for_status()
        process.must("move", name, *changes["add"], "https://b.example/feed")
        for method, path, is_page in in_each_place(name):
            client, headers = (browser, cookie) if is_page else (app, {})
            reply = client.request(method, path, headers=headers)
            assert reply.status_code in {400, 403, 405}, (method, path[:99])


@in_the_long_form
@pytest.mark.parametrize("broken", ["broken_json_is_a_defect", "errors_have_another_shape"])
async def test_the_proof_notices(start, broken):
    assert await prove(start("sqlite", broken), 1_600, 7) != []
