"""What podcast apps keep in an account, in memory, to say what the service should have answered.

And random requests of apps, of few feeds, episodes and devices, so that they meet.
"""

from dataclasses import dataclass, field
from typing import Any

FEEDS = [f"https://{letter}.example/feed" for letter in "abc"]
EPISODES = [f"https://{letter}.example/1.mp3" for letter in "abc"]
DEVICES = ["phone", "laptop"]
SCOPES = ["account.json", "device.json?device=phone", f"podcast.json?podcast={FEEDS[0]}"]
KINDS = ["change", "changes", "urls", "act", "acts", "describe", "devices", "set", "settings"]

Asked = tuple[str, Any]


def random_request(chance):
    """Return what is wanted, and with what; it is different each time."""
    kind, text = chance.choice(KINDS), f"{chance.random()}"
    with_what = {
        "change": (chance.choice(DEVICES), chance.choice(FEEDS), chance.random() < 0.6),
        "act": (*map(chance.choice, (FEEDS, EPISODES, DEVICES)), chance.randrange(1, 10**6)),
        "describe": (chance.choice(DEVICES), text),
        "set": (chance.choice(SCOPES), text),
        "settings": chance.choice(SCOPES),
    }
    return kind, with_what.get(kind)


def show(client, user, asked, chance):
    """Send a request over one of the protocols; return what `AppAccount.answer` says of it."""
    kind, what = asked
    method, path, body = _sent(user, kind, what, chance.random() < 0.5)
    if kind == "change" and "add" not in body:
        _send_nothing(client, path)
    reply = client.request(method, path, json=body)
    if reply.status_code != 200:
        return reply.status_code
    match kind:
        case "change" | "act" | "describe":
            return None
        case "changes":
            return sorted(reply.json()["add"]), sorted(reply.json()["remove"])
        case "urls":
            return sorted(reply.json())
        case "acts":
            return sorted(
                (one["podcast"], one["episode"], one["device"], one["position"])
                for one in reply.json()["actions"]
            )
        case "devices":
            return sorted((one["id"], one["caption"], one["subscriptions"]) for one in reply.json())
    return reply.json()


def _send_nothing(client, path):
    """Sync as apps do before: a removal right after a poll that told of some may be their echo."""
    client.post(path, json={"add": [], "remove": []})


def _sent(user, kind, what, is_nextcloud):
    nextcloud = "/index.php/apps/gpoddersync"
    match kind, what:
        case "change", (device, url, is_added):
            path = f"/api/2/subscriptions/{user}/{device}.json"
            return "POST", path, {"add": [url], "remove": []} if is_added else {"remove": [url]}
        case "changes", _:
            ours = f"/api/2/subscriptions/{user}/phone.json"
            where = f"{nextcloud}/subscriptions" if is_nextcloud else ours
            return "GET", f"{where}?since=1", None  # since 0, what was removed would be left out
        case "urls", _:
            return "GET", f"/subscriptions/{user}/phone.json", None
        case "act", (podcast, episode, device, position):
            action = {
                "podcast": podcast, "episode": episode, "device": device, "action": "play",
                "position": position, "total": 10**6,
            }  # fmt: skip
            ours = f"/api/2/episodes/{user}.json"
            return "POST", f"{nextcloud}/episode_action/create" if is_nextcloud else ours, [action]
        case "acts", _:
            ours = f"/api/2/episodes/{user}.json"
            return "GET", f"{nextcloud}/episode_action" if is_nextcloud else ours, None
        case "describe", (device, caption):
            return "POST", f"/api/2/devices/{user}/{device}.json", {"caption": caption}
        case "devices", _:
            return "GET", f"/api/2/devices/{user}.json", None
        case "set", (scope, text):
            return "POST", f"/api/2/settings/{user}/{scope}", {"set": {text: text}}
    return "GET", f"/api/2/settings/{user}/{what}", None


SCHEMES, ENDS = ("http://", "https://"), ("", "/")
"""How apps may spell a URL, all of which are told where it is to be removed."""


@dataclass
class AppAccount:
    """What apps keep in one account.

    Attributes:
        feeds: Whether the account is subscribed to each URL that it knows.
        plays: The device and position of the latest play of each episode.
        captions: What each device is called.
        settings: The settings by scope.
    """

    feeds: dict[str, bool] = field(default_factory=dict)
    plays: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    captions: dict[str, str] = field(default_factory=dict)
    settings: dict[str, dict[str, str]] = field(default_factory=dict)

    def answer(self, asked):
        """Carry a request out; return what of the reply is certain."""
        match asked:
            case "change", (device, url, is_added):
                self.captions.setdefault(device, device)
                if is_added or url in self.feeds:
                    self.feeds[url] = is_added
            case "changes", _:
                left = [url.partition("://")[2] for url in self._subscribed(False)]
                spelled = [
                    f"{scheme}{url}{end}" for scheme in SCHEMES for url in left for end in ENDS
                ]
                return self._subscribed(True), sorted(spelled)
            case "urls", _:
                return self._subscribed(True)
            case "act", (podcast, episode, device, position):
                self.plays[podcast, episode] = device, position
            case "acts", _:
                return sorted((*episode, *play) for episode, play in self.plays.items())
            case "describe", (device, caption):
                self.captions[device] = caption
            case "devices", _:
                count = len(self._subscribed(True))
                return sorted((device, name, count) for device, name in self.captions.items())
            case "set", (scope, text):
                self.settings.setdefault(scope, {})[text] = text
                return self.settings[scope]
            case "settings", scope:
                return self.settings.get(scope, {})
        return None

    def _subscribed(self, is_subscribed):
        return sorted(url for url, state in self.feeds.items() if state is is_subscribed)
