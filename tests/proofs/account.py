"""An account that the rules keep in memory, to say what the service should have answered.

And random requests, of few guids and feeds, so that they meet.
"""

from kept_states import KeptStates

from feedkeep.model import Counts, Pointer, Snapshot, View, errors
from feedkeep.rules import subscriptions, undo, url_changes, url_lists
from feedkeep.rules.app_urls import UNKNOWN
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.list_limits import MAX_SUBSCRIPTIONS, limits_for
from feedkeep.rules.subscriptions import Update, want
from feedkeep.rules.undo import ConflictPolicy, Undo

URLS = [f"https://{letter}.example" for letter in "abcd"]
GUIDS = [f"00000000-0000-4000-8000-00000000000{digit}" for digit in "12"]
KINDS = ["add", "add", "update", "update", "delete", "read", "read", "read"]
KINDS_OF_APPS = ["put", "upload", "poll"]
KINDS_OF_HISTORY = ["undo", "restore"]
KNOWN = GUIDS + [parse_feed_url(url).guid for url in URLS]


BEFOREHAND = [
    ("add", (URLS[0], GUIDS[0])),
    ("add", (URLS[1], None)),
    ("update", (GUIDS[0], {"is_subscribed": False})),
    ("update", (parse_feed_url(URLS[1]).guid, {"new_feed_url": URLS[2]})),
]
"""Requests to begin with, one after the other: these are undone, and what they made is restored."""


def random_request(chance, kinds=KINDS):
    kind, guid = chance.choice(kinds), chance.choice(KNOWN)
    changes = [
        {"is_subscribed": chance.random() < 0.5},
        {"new_guid": chance.choice(KNOWN)},
        {"new_feed_url": chance.choice(URLS)},
    ]
    with_what = {
        "add": (chance.choice(URLS), chance.choice([None, None, *GUIDS])),
        "put": chance.sample(URLS, chance.randrange(1, 3)),
        "upload": (chance.sample(URLS, chance.randrange(2)), [chance.choice(URLS)]),
        "poll": None,
        "undo": (chance.randrange(len(BEFOREHAND)), str(chance.choice([*ConflictPolicy]))),
        "restore": chance.random() < 0.5,
        "update": (guid, chance.choice(changes)),
    }
    return kind, with_what.get(kind, guid)


def sent(request):
    """Return the method, the path and the body of a request of the interface."""
    match request:
        case "add", (url, guid):
            item = {"feed_url": url} | ({"guid": guid} if guid else {})
            return "POST", "/subscriptions", {"subscriptions": [item]}
        case "update", (guid, change):
            return "PATCH", f"/subscriptions/{guid}", change
        case kind, guid:
            return "DELETE" if kind == "delete" else "GET", f"/subscriptions/{guid}", None


def told(request, status, body):
    """Return the reply's status and fields, in the form of `Account.answer`."""
    match request[0]:
        case _ if status not in {200, 202}:
            return status, None
        case "add":
            return status, body["success"][0]["guid"]
        case "upload":
            return status, body["update_urls"]
        case "poll":
            return status, (sorted(body["add"]), sorted(body["remove"]))
        case "update":
            names = ("new_feed_url", "is_subscribed", "new_guid")
            return status, tuple(body[name] for name in names if name in body)
        case "undo" | "restore":
            return status, (body["stamp"] is not None, body["changed"], body["left"])
        case "read":
            return status, (body["feed_url"], body["is_subscribed"], body.get("new_guid"))
    return status, None


class Account:
    """An account that the rules keep in memory; it answers as the service should."""

    def __init__(self):
        self.entries = {}
        self.last_stamp = 0
        self.counts = Counts()
        self.kept = KeptStates()

    def answer(self, request):
        """Carry a request out; return the status, and all of the answer but its stamps."""
        kind, what = request
        try:
            return getattr(self, kind)(what)
        except (errors.UnknownSubscription, errors.UnknownChange):
            return 404, None
        except errors.ChangedSince:
            return 409, None
        except errors.DeletedSubscription:
            return 410, None
        except errors.InvalidInput:
            return 405, None

    def add(self, what):
        items = [want(*what)]
        (result,) = self.decide(lambda snapshot: subscriptions.add(snapshot, items))
        return 200, result.subscription.guid

    def update(self, what):
        guid, sent = what
        url, new_guid = sent.get("new_feed_url"), sent.get("new_guid")
        change = Update(url and parse_feed_url(url), new_guid, sent.get("is_subscribed"))
        done = self.decide(lambda snapshot: subscriptions.update(snapshot, guid, change))
        told = (done.new_feed_url, done.is_subscribed, done.new_guid)
        return 200, tuple(value for value in told if value is not None)

    def delete(self, guid):
        self.decide(lambda snapshot: subscriptions.delete(snapshot, guid))
        return 202, None

    def put(self, urls):
        wanted = url_lists.whole_list(urls)
        self.decide(lambda snapshot: url_lists.replace_list(snapshot, wanted))
        return 200, None

    def upload(self, what):
        items = [url_lists.parse_added(url) for url in what[0]]
        left = url_lists.parse_removed(what[1])[0]
        synced = self.decide(lambda snapshot: url_lists.upload(snapshot, items, left))
        kept = map(url_lists.kept_as, items, synced.results)
        return 200, [[sent, url] for sent, url in kept if sent != url]

    def undo(self, what):
        number, when_changed = what
        wanted = Undo([self.kept.stamps[number]], None, ConflictPolicy(when_changed))
        done = self.decide(lambda snapshot: undo.undo(snapshot, wanted))
        return 200, (done.stamp is not None, done.feeds, done.left)

    def restore(self, keep_added):
        """Restore the list as it was after the initial requests."""
        moment = self.kept.stamps[len(BEFOREHAND) - 1]
        done = self.decide(lambda snapshot: undo.restore(snapshot, moment, keep_added=keep_added))
        return 200, (done.stamp is not None, done.feeds, done.left)

    def poll(self, _):
        changes = url_changes.changes_to_send(self.entries.values(), 0, UNKNOWN)
        return 200, (sorted(changes.add), sorted(changes.removed_texts))

    def read(self, guid):
        entry = self.entries.get(guid)
        new_guid = entry.new_guid if isinstance(entry, Pointer) else None
        view = entry and View(entry, self.entries[new_guid] if new_guid else entry)
        feed = subscriptions.read(view).subscription
        return 200, (feed.feed_url, feed.is_subscribed, new_guid)

    def decide(self, decide):
        known = self.kept.history()
        state = (dict(self.entries), self.last_stamp, 0, self.counts)
        decision = decide(Snapshot(*state, history=known, limits=limits_for(MAX_SUBSCRIPTIONS)))
        if decision.saved or decision.forgotten:
            self.kept.keep(decision)
        self.entries |= {entry.guid: entry for entry in decision.saved}
        for guid in decision.forgotten:
            del self.entries[guid]
        self.last_stamp = decision.last_stamp
        self.counts = decision.counts
        return decision.outcome
