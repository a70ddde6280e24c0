"""Checks of `/sync` in draft C of the Open Podcast API: pull request 171, which may change."""

from __future__ import annotations

from podsync_check.checking import Level, check, expect
from podsync_check.servers import DraftC


@check(
    Level.KEPT,
    why="A podcast added on the phone never shows up on the laptop.",
    seen="OpenPodcastAPI/api-specs#171",
    spec="Draft C, sync: `subscribe` is applied, and GET returns the entity.",
)
def a_subscription_is_told_by_sync(server: DraftC) -> None:
    """A client's new subscription reaches the other clients."""
    phone, laptop = server.client(), server.client()
    done = phone.act(phone.subscribe(server.feed()))
    expect(done["status"] == "applied", f"The result is {done}.")
    told = [one["data"]["feed_url"] for one in laptop.told()]
    expect(told == [server.feed()], f"The other client receives {told}.")


@check(
    Level.KEPT,
    why="A podcast removed on the phone stays on the laptop, and comes back from there.",
    seen="OpenPodcastAPI/api-specs#171",
    spec="Draft C, sync: unsubscribed entities are returned, too, with `unsubscribed_at`.",
)
def an_unsubscription_is_told_by_sync(server: DraftC) -> None:
    """A client's unsubscription reaches the other clients, with its time."""
    phone, laptop = server.client(), server.client()
    done = phone.act(phone.subscribe(server.feed()))
    laptop.told()
    phone.act(phone.unsubscribe(done["data"]["sync_id"]))
    told = laptop.told()
    is_told = [bool(one["data"].get("unsubscribed_at")) for one in told]
    expect(is_told == [True], f"The other client receives {told}.")


@check(
    Level.KEPT,
    why="After a tunnel, the phone repeats an upload, and each podcast is listed twice.",
    seen="OpenPodcastAPI/api-specs#171",
    spec="Draft C, sync: actions not later than the entity's last change are ignored.",
)
def a_sync_action_can_be_repeated(server: DraftC) -> None:
    """An action sent twice is applied once; the repetition is ignored."""
    phone = server.client()
    action = phone.subscribe(server.feed())
    statuses = [phone.act(action)["status"] for _ in range(2)]
    expect(statuses == ["applied", "ignored"], f"The statuses are {statuses}.")
    told = server.client().told()
    expect(len(told) == 1, f"Another client receives {len(told)} subscriptions.")


@check(
    Level.AGREED,
    why="A phone that was offline restores a podcast removed on the laptop since.",
    seen="OpenPodcastAPI/api-specs#171",
    spec="Draft C, sync: the action that occurred last wins, in any order of arrival.",
)
def an_older_sync_action_changes_nothing(server: DraftC) -> None:
    """Of two actions, the one that occurred last wins, even if it arrives first."""
    phone, laptop = server.client(), server.client()
    late = phone.subscribe(server.feed())
    done = laptop.act(laptop.subscribe(server.feed()))
    laptop.act(laptop.unsubscribe(done["data"]["sync_id"]))
    got = phone.act(late)
    expect(got["status"] == "ignored", f"The late action's result is {got}.")


@check(
    Level.TOLERANT,
    why="Another device deletes one podcast, and the phone never syncs again.",
    seen="OpenPodcastAPI/api-specs#171",
    spec="Draft C, sync: the actions of a request are independent; one of an unknown entity is"
    " rejected.",
)
def one_unknown_entity_blocks_nothing(server: DraftC) -> None:
    """An action on an unknown entity is rejected with a reason; others are applied."""
    phone = server.client()
    unknown = phone.unsubscribe("00000000-0000-4000-8000-000000000000")
    got = phone.act_all([unknown, phone.subscribe(server.feed())])
    statuses = {one["action_id"]: one["status"] for one in got}
    expect(statuses.get(unknown["action_id"]) == "rejected", f"The results are {got}.")
    expect(sorted(statuses.values()) == ["applied", "rejected"], f"The results are {got}.")
    reason = next(one.get("reason") for one in got if one["status"] == "rejected")
    expect(bool(reason), "The rejection has no reason.")


@check(
    Level.FEEDKEEP,
    why="A subscription made on a flight never reaches the laptop, which synced meanwhile.",
    seen="AntennaPod/AntennaPod#2121",
    spec="Draft C compares `since` with `last_updated`, but does not say by whose clock.",
)
def a_late_sync_action_reaches_the_others(server: DraftC) -> None:
    """An action sent late reaches a client that has synced since it occurred."""
    phone, laptop = server.client(), server.client()
    late = phone.subscribe(server.feed("late"))
    laptop.act(laptop.subscribe(server.feed("early")))
    laptop.told()
    phone.act(late)
    told = [one["data"]["feed_url"] for one in laptop.told()]
    expect(server.feed("late") in told, f"The other client receives {told}.")
