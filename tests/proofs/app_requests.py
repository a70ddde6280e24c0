"""Random requests of apps, of few feeds, episodes and devices, so that they meet."""

import re

FEEDS = [f"https://{letter}.example/feed" for letter in "abc"]
EPISODES = [f"https://{letter}.example/1.mp3" for letter in "abc"]
DEVICES = ["phone", "laptop"]
SCOPES = ["account.json", "device.json?device=phone", f"podcast.json?podcast={FEEDS[0]}"]
KINDS = ["change", "changes", "urls", "act", "acts", "describe", "devices", "set", "settings"]


def random_request_of_apps(chance):
    """Return a random request of an app: its kind and its arguments."""
    kind, text = chance.choice(KINDS), f"{chance.random()}"
    with_what = {
        "change": (chance.choice(DEVICES), chance.choice(FEEDS), chance.random() < 0.6),
        "act": (*map(chance.choice, (FEEDS, EPISODES, DEVICES)), chance.randrange(1, 10**6)),
        "describe": (chance.choice(DEVICES), text),
        "set": (chance.choice(SCOPES), text),
        "settings": chance.choice(SCOPES),
    }
    return kind, with_what.get(kind)


def show(client, user, asked, protocol):
    """Send a request over one of the protocols; return what it shows, but for times."""
    method, path, body = _sent(user, *asked, protocol < 0.5)
    if asked[0] == "change" and "add" not in body:
        # As apps do before: a removal right after a poll that told of some may be their echo.
        client.post(path, json={"add": [], "remove": []})
    reply = client.request(method, path, json=body)
    return reply.status_code, re.sub(r"\d{4}-\d\d-\d\dT[0-9:]+|\b\d{10}\b", "TIME", reply.text)


def _sent(user, kind, what, is_nextcloud):
    nextcloud = "/index.php/apps/gpoddersync"
    changes, actions = f"/api/2/subscriptions/{user}/phone.json", f"/api/2/episodes/{user}.json"
    if is_nextcloud:
        changes, actions = f"{nextcloud}/subscriptions", f"{nextcloud}/episode_action"
    match kind, what:
        case "change", (device, url, is_added):
            path = f"/api/2/subscriptions/{user}/{device}.json"
            return "POST", path, {"add": [url], "remove": []} if is_added else {"remove": [url]}
        case "changes", _:
            return "GET", f"{changes}?since=1", None  # since 0, removals would be left out
        case "urls", _:
            return "GET", f"/subscriptions/{user}/phone.json", None
        case "act", (podcast, episode, device, position):
            action = {"podcast": podcast, "episode": episode, "device": device, "action": "play"}
            action |= {"position": position, "total": 10**6}
            return "POST", f"{actions}/create" if is_nextcloud else actions, [action]
        case "acts", _:
            return "GET", actions, None
        case "describe", (device, caption):
            return "POST", f"/api/2/devices/{user}/{device}.json", {"caption": caption}
        case "devices", _:
            return "GET", f"/api/2/devices/{user}.json", None
        case "set", (scope, text):
            return "POST", f"/api/2/settings/{user}/{scope}", {"set": {text: text}}
    return "GET", f"/api/2/settings/{user}/{what}", None
