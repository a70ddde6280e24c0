"""The rest of gpodder.net's API: devices, settings, updates, and all that is empty here."""

import json

import httpx
import pytest
from people import EPISODE, HTTP_A, NEXTCLOUD, A, B, add, assert_empty, log_in, ok, play

from feedkeep.rules.feed_urls import usual_spellings
from feedkeep.service.documents import short_name

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TOO_DEEP = "The JSON is nested deeper than 64 levels."


def devices(person):
    return ok(person.app().get(f"/api/2/devices/{person.name}.json"))


def test_a_device_that_uploads_or_of_which_nothing_is_said_is_one(person):
    person.push("new.one-1", add=[A])
    described = {"id": "new.one-1", "caption": "new.one-1", "type": "other", "subscriptions": 1}
    assert devices(person) == [described]
    assert_empty(person.app().post(f"/api/2/devices/{person.name}/tablet.json", content=b" "))
    found = [(device["id"], device["caption"]) for device in devices(person)]
    assert sorted(found) == [("new.one-1", "new.one-1"), ("tablet", "tablet")]


def test_json_that_calls_itself_a_form_is_json(person):
    app = person.app()
    for path, body in (
        (person.changes(), {"add": [A], "remove": []}),
        (person.episodes, [play(A, EPISODE, 1)]),
        (person.settings(), {"set": {"a": 1}}),
    ):
        ok(app.post(path, content=json.dumps(body).encode(), headers=FORM))
    assert person.subscribed() == {A}
    assert len(person.actions(app)) == 1
    assert ok(app.get(person.settings())) == {"a": 1}


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/json", "x; y=z", "\xe9"])
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_describing_a_device_is_answered_with_an_empty_body(person, method, content_type):
    path = f"/api/2/devices/{person.name}/my.laptop-2.json"
    headers = [(b"Content-Type", content_type.encode())] if content_type else []
    body = b'{"caption": "Laptop", "type": "laptop"}'
    request = httpx.Request(method, person.process.base_url + path, headers=headers, content=body)
    assert_empty(person.client().send(request, auth=(person.name, person.secret)))
    described = {"id": "my.laptop-2", "caption": "Laptop", "type": "laptop", "subscriptions": 0}
    assert devices(person) == [described]


def test_a_device_has_one_of_the_types_that_gpodder_knows(person):
    app, path = person.app(), f"/api/2/devices/{person.name}/d.json"
    for kind in ("desktop", "laptop", "mobile", "server", "other"):
        assert_empty(app.post(path, json={"type": kind.upper()}))
        assert [device["type"] for device in devices(person)] == [kind]
    for number, kind in enumerate(("fridge", "", None, 7)):
        path = f"/api/2/devices/{person.name}/odd{number}.json"
        assert_empty(app.post(path, json={"caption": "", "type": kind}))
    found = {device["id"]: (device["type"], device["caption"]) for device in devices(person)}
    assert found == {"d": ("other", "d")} | {f"odd{n}": ("other", f"odd{n}") for n in range(4)}


def test_all_devices_share_one_list_and_nothing_can_part_them(person):
    app, path = person.app(), f"/api/2/sync-devices/{person.name}.json"
    assert ok(app.get(path)) == {"synchronized": [], "not-synchronized": []}
    for device in ("phone", "desk", "car"):
        app.post(f"/api/2/devices/{person.name}/{device}.json", json={})
    together = {"synchronized": [["car", "desk", "phone"]], "not-synchronized": []}
    body = {"synchronize": [["phone", "desk"]], "stop-synchronize": ["car"]}
    assert ok(app.post(path, json=body)) == together
    assert ok(app.get(path)) == together


def test_an_id_that_no_device_can_have_is_400(person):
    app = person.app()
    for device in ("a b", "x" * 65, "a*", "%00"):
        described = app.post(f"/api/2/devices/{person.name}/{device}.json", json={})
        uploaded = app.post(person.changes(device), json={"add": [A]})
        assert (described.status_code, uploaded.status_code) == (400, 400), device


def test_settings_of_a_podcast_are_the_same_by_http_and_by_https(person):
    app, path = person.app(), person.settings("podcast")
    ok(app.post(path, params={"podcast": A}, json={"set": {"speed": 1.5}, "remove": []}))
    for other in (HTTP_A, f"feed:{A}"):
        assert ok(app.get(path, params={"podcast": other})) == {"speed": 1.5}
    assert ok(app.get(path, params={"podcast": B})) == {}
    for scope, query in (
        ("device", {}),
        ("podcast", {}),
        ("episode", {"podcast": A}),
        ("podcast", {"podcast": "x"}),
    ):
        assert app.get(person.settings(scope), params=query).status_code == 400


def test_settings_are_bounded_by_their_bytes_and_too_large_numbers_are_refused(person):
    app, path = person.app(), person.settings()
    assert app.post(path, json={"set": {"a": "é" * 40_000}, "remove": []}).status_code == 400
    assert app.post(path, json={"set": {"a": "é" * 30_000}, "remove": []}).status_code == 200
    assert app.post(path, json={"set": {"b": "x" * 6_000}}).status_code == 400
    reply = app.post(path, content=b'{"set": {"volume": 1e999}}')
    assert (reply.status_code, reply.json()["code"]) == (400, "400")
    assert list(ok(app.get(path))) == ["a"]


def test_json_is_nested_64_levels_deep_at_most_wherever_it_is_read(person):
    app, deep = person.app(), b'{"x":' + b"[" * 64 + b"]" * 64 + b"}"
    for path in (
        person.changes(),
        f"/api/2/devices/{person.name}/phone.json",
        person.settings(),
        person.episodes,
        f"{NEXTCLOUD}/subscription_change/create",
        f"{NEXTCLOUD}/episode_action/create",
    ):
        reply = app.post(path, content=deep)
        assert (reply.status_code, reply.json()["code"]) == (400, "400"), path
        assert reply.json()["message"].endswith(TOO_DEEP), path
    reply = app.put(f"/subscriptions/{person.name}/phone.json", content=deep)
    assert reply.json()["message"].endswith(TOO_DEEP)


def test_settings_that_were_let_in_too_deep_are_told_and_give_way_to_the_next(person):
    deep = '{"a":' + "[" * 990 + "]" * 990 + "}"

    async def keep(service):
        account = await service.accounts.named(person.name)
        name = short_name("account")
        await service.store.documents.change(account.id, "settings", name, lambda *_: deep)

    person.process.use(keep)
    app, path = person.app(), person.settings()
    reply = app.get(path)
    assert (reply.status_code, reply.text) == (200, deep)
    assert ok(app.post(path, json={"set": {"b": 1}, "remove": []})) == {"b": 1}
    assert ok(app.get(path)) == {"b": 1}


def test_updates_are_the_changes_with_a_description_of_each_podcast(person):
    add(person, A)
    app, path = person.app(), f"/api/2/updates/{person.name}/phone.json"
    first = ok(app.get(path, params={"since": 0, "include_actions": "true"}))
    assert [podcast["url"] for podcast in first["add"]] == [A]
    person.push("laptop", app, [B], [A])
    second = ok(app.get(path, params={"since": first["timestamp"]}))
    assert [podcast["url"] for podcast in second["add"]] == [B]
    assert second["remove"] == second["rem"] == usual_spellings(A)
    assert second["updates"] == []


def test_an_action_belongs_to_the_device_of_its_path_unless_it_names_one(person):
    app, path = person.app(), f"/api/2/episodes/{person.name}/hull.json"
    sent = [play(A, EPISODE, 10), play(B, EPISODE, 20, device="phone")]
    assert ok(app.post(path, json=sent))["update_urls"] == []
    actions = person.actions(app)
    assert {action["podcast"]: action["device"] for action in actions} == {A: "hull", B: "phone"}
    assert app.get(path).status_code == 405
    found = person.actions(app, podcast=f"{HTTP_A}/")  # by any spelling of its URL
    assert [action["podcast"] for action in found] == [A]


def test_there_is_no_directory_and_no_account_has_lists(person):
    assert ok(person.app().get(f"/api/2/lists/{person.name}.json")) == []
    assert ok(person.app().get("/suggestions/10.json")) == []
    anyone = person.client()
    assert anyone.get("/suggestions/10.json").status_code == 401
    for path in ("/api/2/tags/9.json", "/api/2/tag/news/9.json", "/toplist/9.json", "/search.json"):
        assert ok(anyone.get(path, params={"q": "news"})) == []
    assert anyone.get("/toplist/9.txt").text == ""
    assert "xmlUrl" not in anyone.get("/search.opml").text


def test_the_configuration_of_clients_names_this_server(person):
    config = ok(person.client().get("/clientconfig.json"))
    base = f"{person.process.base_url}/"
    assert config["mygpo"] == config["mygpo-feedservice"] == {"baseurl": base}
    assert config["update_timeout"] == 7 * 24 * 60 * 60


def test_an_odd_since_is_400_or_gives_too_much_and_never_too_little(person):
    add(person, A)
    person.pull()
    for since in ("x", "1e3"):
        reply = person.app().get(person.changes(), params={"since": since})
        assert reply.status_code == 400
    for since in ("", "-1", "1.5", "99999999999999"):
        assert person.pull(since=since)["add"] == [A]


@pytest.mark.parametrize("device", ["musicassistant", "phone", "%00", "a%20b", "%FF", ""])
def test_an_app_that_names_a_device_is_told_what_all_have_done(person, device):
    """Music Assistant asks with a device of its own, and uploads without any."""
    app = log_in(person)
    person.played(play(A, EPISODE, 1, device="phone"), play(A, EPISODE, 2), app=app)
    told = ok(app.get(f"{person.episodes}?device={device}"))
    assert [action["position"] for action in told["actions"]] == [2]
    uploaded = person.played(play(A, EPISODE, 3), app=app)
    assert uploaded["timestamp"] > told["timestamp"]  # it counts as told, so this goes past it


def numbers():
    """Return numbers of every size as JSON writes them."""
    zeros = (0, 9, 12, 15, 16, 18, 19, 20, 308, 309, 400)
    whole = [f"{sign}1{'0' * count}" for count in zeros for sign in ("", "-")]
    return [*whole, "0", "0.5", "1e30", "1e308", str(2**31), str(2**63), str(2**64)]


@pytest.mark.parametrize("field", ["timestamp", "started", "position", "total", "device", "guid"])
@pytest.mark.parametrize("protocol", ["gpodder", "nextcloud"])
def test_no_number_in_an_action_costs_the_others_of_its_upload(person, protocol, field):
    """An app sends an upload that fails again, and nothing after it."""
    app = person.app()
    nextcloud = f"{NEXTCLOUD}/episode_action/create"
    path = nextcloud if protocol == "nextcloud" else person.episodes
    for number in numbers():
        body = json.dumps([play(A, EPISODE, 5) | {field: "?"}, play(B, EPISODE, 7)])
        ok(app.post(path, content=body.replace('"?"', number)))
    told = person.actions(app)
    assert 7 in [one["position"] for one in told if one["podcast"] == B]
    assert all(0 < one["position"] <= 2_147_483 for one in told)


def test_no_number_is_a_server_error_wherever_it_stands(person):
    app, name = person.app(), person.name
    for number in numbers():
        for method, path, body in (
            ("POST", person.changes(), f'{{"add": [{number}], "remove": {number}}}'),
            ("POST", f"{NEXTCLOUD}/subscription_change/create", f'{{"remove": [{number}]}}'),
            ("PUT", f"/subscriptions/{name}/phone.json", f"[{number}]"),
            ("POST", f"/api/2/devices/{name}/phone.json", f'{{"caption": {number}}}'),
            ("POST", person.settings(), f'{{"set": {{"a": {number}}}}}'),
            ("POST", f"/api/2/sync-devices/{name}.json", f'{{"synchronize": [[{number}]]}}'),
            ("GET", f"{person.changes()}?since={number}", ""),
            ("GET", f"{person.episodes}?since={number}", ""),
            ("GET", f"{NEXTCLOUD}/episode_action?since={number}", ""),
            ("GET", f"/api/2/updates/{name}/phone.json?since={number}", ""),
        ):
            reply = app.request(method, path, content=body)
            assert reply.status_code < 500, (method, path, number)
