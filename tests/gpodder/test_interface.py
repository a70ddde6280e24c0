"""The rest of gpodder.net's API: devices, settings, updates, and all that is empty here."""

import json

import pytest
from people import EPISODE, HTTP_A, A, B, add, log_in, ok, play

from feedkeep.rules.feed_urls import usual_spellings
from feedkeep.service.documents import short_name


def test_a_device_of_which_nothing_is_said_is_one(person):
    app = person.app()
    sent = app.post(f"/api/2/devices/{person.name}/tablet.json", content=b" ")
    assert sent.status_code == 200
    [listed] = ok(app.get(f"/api/2/devices/{person.name}.json"))
    assert (listed["id"], listed["caption"]) == ("tablet", "tablet")


def test_all_devices_share_one_list_and_nothing_can_part_them(person):
    app, path = person.app(), f"/api/2/sync-devices/{person.name}.json"
    assert ok(app.get(path)) == {"synchronized": [], "not-synchronized": []}
    for device in ("phone", "desk", "car"):
        app.post(f"/api/2/devices/{person.name}/{device}.json", json={})
    together = {"synchronized": [["car", "desk", "phone"]], "not-synchronized": []}
    body = {"synchronize": [["phone", "desk"]], "stop-synchronize": ["car"]}
    assert ok(app.post(path, json=body)) == together
    assert ok(app.get(path)) == together


def test_a_device_that_uploads_is_known_from_then_on(person):
    ok(person.app().post(person.changes("new.one-1"), json={"add": [A]}))
    listed = ok(person.app().get(f"/api/2/devices/{person.name}.json"))
    described = {"id": "new.one-1", "caption": "new.one-1", "type": "other", "subscriptions": 1}
    assert listed == [described]


@pytest.mark.parametrize("device", ["a b", "x" * 65, "a*", "%00"])
def test_an_id_that_no_device_can_have_is_400(person, device):
    reply = person.app().post(f"/api/2/devices/{person.name}/{device}.json", json={})
    assert reply.status_code == 400
    assert person.app().post(person.changes(device), json={"add": [A]}).status_code == 400


def test_settings_of_a_podcast_are_the_same_by_http_and_by_https(person):
    app, path = person.app(), f"/api/2/settings/{person.name}/podcast.json"
    ok(app.post(path, params={"podcast": A}, json={"set": {"speed": 1.5}, "remove": []}))
    for other in (HTTP_A, f"feed:{A}"):
        assert ok(app.get(path, params={"podcast": other})) == {"speed": 1.5}
    assert ok(app.get(path, params={"podcast": B})) == {}


@pytest.mark.parametrize(
    ("scope", "query"),
    [("device", {}), ("podcast", {}), ("episode", {"podcast": A}), ("podcast", {"podcast": "x"})],
)
def test_settings_of_nothing_in_particular_are_400(person, scope, query):
    path = f"/api/2/settings/{person.name}/{scope}.json"
    assert person.app().get(path, params=query).status_code == 400


def test_settings_are_bounded_by_their_bytes_in_utf_8_not_by_their_characters(person):
    app, path = person.app(), f"/api/2/settings/{person.name}/account.json"
    assert app.post(path, json={"set": {"a": "é" * 40_000}, "remove": []}).status_code == 400
    assert app.post(path, json={"set": {"a": "é" * 30_000}, "remove": []}).status_code == 200


def test_a_number_that_is_too_large_to_be_kept_is_refused(person):
    path = f"/api/2/settings/{person.name}/account.json"
    reply = person.app().post(path, content=b'{"set": {"volume": 1e999}}')
    assert (reply.status_code, reply.json()["code"]) == (400, "400")
    assert ok(person.app().get(path)) == {}


def test_json_is_nested_64_levels_deep_at_most_wherever_it_is_read(person):
    app, deep = person.app(), b'{"x":' + b"[" * 64 + b"]" * 64 + b"}"
    for path in (
        person.changes(),
        f"/api/2/devices/{person.name}/phone.json",
        f"/api/2/settings/{person.name}/account.json",
        person.episodes,
        "/index.php/apps/gpoddersync/subscription_change/create",
        "/index.php/apps/gpoddersync/episode_action/create",
    ):
        reply = app.post(path, content=deep)
        assert (reply.status_code, reply.json()["code"]) == (400, "400"), path
        assert reply.json()["message"].endswith("The JSON is nested deeper than 64 levels."), path
    path = f"/subscriptions/{person.name}/phone.json"
    reply = app.put(path, content=deep)
    assert reply.json()["message"].endswith("The JSON is nested deeper than 64 levels.")


def test_settings_that_were_let_in_too_deep_are_told_and_give_way_to_the_next(person):
    deep = '{"a":' + "[" * 990 + "]" * 990 + "}"

    async def keep(service):
        account = await service.accounts.named(person.name)
        keep = service.store.documents.change
        await keep(account.id, "settings", short_name("account"), lambda *_: deep)

    person.process.use(keep)
    app, path = person.app(), f"/api/2/settings/{person.name}/account.json"
    reply = app.get(path)
    assert (reply.status_code, reply.text) == (200, deep)
    assert ok(app.post(path, json={"set": {"b": 1}, "remove": []})) == {"b": 1}
    assert ok(app.get(path)) == {"b": 1}


def test_settings_are_kept_up_to_a_bound(person):
    app, path = person.app(), f"/api/2/settings/{person.name}/account.json"
    ok(app.post(path, json={"set": {"a": "x" * 60_000}}))
    assert app.post(path, json={"set": {"b": "x" * 6_000}}).status_code == 400
    assert list(ok(app.get(path))) == ["a"]


def test_updates_are_the_changes_with_a_description_of_each_podcast(person):
    add(person, A)
    app, path = person.app(), f"/api/2/updates/{person.name}/phone.json"
    first = ok(app.get(path, params={"since": 0, "include_actions": "true"}))
    assert [podcast["url"] for podcast in first["add"]] == [A]
    ok(app.post(person.changes("laptop"), json={"add": [B], "remove": [A]}))
    second = ok(app.get(path, params={"since": first["timestamp"]}))
    assert [podcast["url"] for podcast in second["add"]] == [B]
    assert second["remove"] == second["rem"] == usual_spellings(A)
    assert second["updates"] == []


def test_an_action_belongs_to_the_device_of_its_path_unless_it_names_one(person):
    app, path = person.app(), f"/api/2/episodes/{person.name}/hull.json"
    sent = [play(A, EPISODE, 10), play(B, EPISODE, 20, device="phone")]
    assert ok(app.post(path, json=sent))["update_urls"] == []
    actions = ok(app.get(person.episodes))["actions"]
    assert {action["podcast"]: action["device"] for action in actions} == {A: "hull", B: "phone"}
    assert app.get(path).status_code == 405


def test_there_is_no_directory_and_no_account_has_lists(person):
    assert ok(person.app().get(f"/api/2/lists/{person.name}.json")) == []
    assert ok(person.app().get("/suggestions/10.json")) == []
    assert person.client().get("/suggestions/10.json").status_code == 401
    anyone = person.client()
    for path in ("/api/2/tags/9.json", "/api/2/tag/news/9.json", "/toplist/9.json", "/search.json"):
        assert ok(anyone.get(path, params={"q": "news"})) == []
    assert anyone.get("/toplist/9.txt").text == ""
    assert "xmlUrl" not in anyone.get("/search.opml").text


def test_the_configuration_of_clients_names_this_server(person):
    config = ok(person.client().get("/clientconfig.json"))
    base = f"{person.process.base_url}/"
    assert config["mygpo"] == config["mygpo-feedservice"] == {"baseurl": base}
    assert type(config["update_timeout"]) is int


@pytest.mark.parametrize("since", ["x", "1e3", "", "-1", "1.5", "99999999999999"])
def test_an_odd_since_is_400_or_gives_too_much_and_never_too_little(person, since):
    add(person, A)
    ok(person.app().get(person.changes()))
    reply = person.app().get(person.changes(), params={"since": since})
    assert reply.status_code == 400 if since in {"x", "1e3"} else ok(reply)["add"] == [A]


def test_actions_of_a_podcast_are_found_by_any_spelling_of_its_url(person):
    app = person.app()
    ok(app.post(person.episodes, json=[play(A, EPISODE, 1), play(B, EPISODE, 2)]))
    found = ok(app.get(person.episodes, params={"podcast": f"{HTTP_A}/"}))["actions"]
    assert [action["podcast"] for action in found] == [A]


@pytest.mark.parametrize("device", ["musicassistant", "phone", "%00", "a%20b", "%FF", ""])
def test_an_app_that_names_a_device_is_told_what_all_have_done(person, device):
    """Music Assistant asks with a device of its own, and uploads without any."""
    app = log_in(person)
    sent = [play(A, EPISODE, 1, device="phone"), play(A, EPISODE, 2)]
    ok(app.post(person.episodes, json=sent))
    told = ok(app.get(f"{person.episodes}?device={device}"))
    assert [action["position"] for action in told["actions"]] == [2]
    uploaded = ok(app.post(person.episodes, json=[play(A, EPISODE, 3)]))
    assert uploaded["timestamp"] > told["timestamp"]  # it counts as told, so this goes past it


def numbers() -> list[str]:
    """Return numbers of every size as JSON writes them."""
    zeros = (0, 9, 12, 15, 16, 18, 19, 20, 308, 309, 400)
    whole = [f"{sign}1{'0' * count}" for count in zeros for sign in ("", "-")]
    return [*whole, "0", "0.5", "1e30", "1e308", str(2**31), str(2**63), str(2**64)]


@pytest.mark.parametrize("field", ["timestamp", "started", "position", "total", "device", "guid"])
@pytest.mark.parametrize("protocol", ["gpodder", "nextcloud"])
def test_no_number_in_an_action_costs_the_others_of_its_upload(person, protocol, field):
    """An app sends an upload that fails again, and nothing after it."""
    app = person.app()
    path = person.episodes
    if protocol == "nextcloud":
        path = "/index.php/apps/gpoddersync/episode_action/create"
    for number in numbers():
        body = json.dumps([play(A, EPISODE, 5) | {field: "?"}, play(B, EPISODE, 7)])
        ok(app.post(path, content=body.replace('"?"', number)))
    told = ok(app.get(person.episodes))["actions"]
    assert 7 in [one["position"] for one in told if one["podcast"] == B]
    assert all(0 < one["position"] <= 2_147_483 for one in told)


def test_no_number_is_a_server_error_wherever_it_stands(person):
    app, name = person.app(), person.name
    nextcloud = "/index.php/apps/gpoddersync"
    for number in numbers():
        for method, path, body in (
            ("POST", person.changes(), f'{{"add": [{number}], "remove": {number}}}'),
            ("POST", f"{nextcloud}/subscription_change/create", f'{{"remove": [{number}]}}'),
            ("PUT", f"/subscriptions/{name}/phone.json", f"[{number}]"),
            ("POST", f"/api/2/devices/{name}/phone.json", f'{{"caption": {number}}}'),
            ("POST", f"/api/2/settings/{name}/account.json", f'{{"set": {{"a": {number}}}}}'),
            ("POST", f"/api/2/sync-devices/{name}.json", f'{{"synchronize": [[{number}]]}}'),
            ("GET", f"{person.changes()}?since={number}", ""),
            ("GET", f"{person.episodes}?since={number}", ""),
            ("GET", f"{nextcloud}/episode_action?since={number}", ""),
            ("GET", f"/api/2/updates/{name}/phone.json?since={number}", ""),
        ):
            reply = app.request(method, path, content=body)
            assert reply.status_code < 500, (method, path, number)
