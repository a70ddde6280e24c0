"""Episodes of feeds are those that an account may see, and are found for its actions."""

from collections.abc import Iterable

from authors import TESTER
from running import DAY, MINUTE, Clock

from feedkeep.model import (
    AccountId,
    Admitted,
    Episode,
    EpisodeAction,
    FeedContent,
    NewestEpisodes,
    Stamp,
    Subscription,
    replace,
)
from feedkeep.rules.episode_actions import SentAction, judge
from feedkeep.rules.episodes import Playing, digest_of_file, digest_of_guid
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import want
from feedkeep.service import Service
from feedkeep.store.base import Store

URL, MOVED = "https://show.example/feed", "https://moved.example/feed"


def file(number: int) -> str:
    return f"https://show.example/{number}.mp3"


def episodes(*numbers: int) -> tuple[Episode, ...]:
    return tuple(
        Episode(f"Episode {n}", Stamp(n), 60, "", digest_of_guid(f"g{n}"), digest_of_file(file(n)))
        for n in numbers
    )


async def look(
    store: Store, clock: Clock, urls: Iterable[str], found: tuple[Episode, ...] | None
) -> None:
    """Find feeds with these episodes; unchanged, if there are none."""
    each = {parse_feed_url(url).guid: url for url in urls}
    clock.go_on(MINUTE)
    await store.feeds.want(each, clock())
    due = Stamp(clock() + 9 * DAY)
    for feed in await store.feeds.lease(due, Stamp(due + 1), 100):
        known = replace(
            feed,
            content=FeedContent("Show"),
            looked=clock(),
            answered=clock(),
            next_fetch=due,
            episodes="10 digest",
        )
        newest = None if found is None else NewestEpisodes("10 digest", found)
        assert await store.feeds.save(known, Stamp(due + 1), None, None, newest)
    clock.go_on(MINUTE)


def play(podcast: str, episode: str, guid: str | None = None) -> EpisodeAction:
    action = judge(SentAction(podcast, episode, "", "play", None, None, 9, 60, guid))
    assert isinstance(action, EpisodeAction)
    return action


async def account(service: Service, name: str, *urls: str) -> AccountId:
    one = await service.accounts.create(name, None)
    await service.subscriptions.add(one.id, [want(url, None) for url in urls], TESTER)
    return one.id


async def subscription(service: Service, account_id: AccountId, url: str = URL) -> Subscription:
    view = await service.subscriptions.view(account_id, parse_feed_url(url).guid)
    assert view is not None
    return view.subscription


async def test_an_account_sees_the_episodes_of_fetches_since_it_had_the_feed(service, store, clock):
    anna = await account(service, "anna", URL)
    hers = await subscription(service, anna)
    assert await service.episodes.episodes_of(hers) == ()
    await look(store, clock, [URL], episodes(1, 2))
    assert await service.episodes.episodes_of(hers) == episodes(1, 2)
    ben = await account(service, "ben", URL)
    his = await subscription(service, ben)
    wanted = play(URL, file(1))
    feeds = {wanted.podcast_guid: his}
    assert await service.episodes.episodes_of(his) == ()
    assert await service.episodes.of_plays(feeds, [wanted]) == {}
    await look(store, clock, [URL], None)  # it was fetched again, and is unchanged
    assert await service.episodes.episodes_of(his) == episodes(1, 2)
    found = await service.episodes.of_plays(feeds, [wanted])
    assert found == {wanted.key: episodes(1)[0]}


async def test_plays_have_the_episode_of_their_guid_or_file_also_after_a_move(
    service, store, clock
):
    anna = await account(service, "anna", URL)
    await service.url_lists.move(anna, URL, MOVED, TESTER, notify_apps=False)
    await look(store, clock, [MOVED], episodes(1, 2))
    hers = await subscription(service, anna)
    of_file, of_guid = play(URL, file(1)), play(URL, "https://else.example/2.mp3", "g2")
    others = [play(URL, file(3), "g3"), play("https://other.example", file(1))]
    feeds = {of_file.podcast_guid: hers}
    found = await service.episodes.of_plays(feeds, [of_file, of_guid, *others])
    one, two = episodes(1, 2)
    assert found == {of_file.key: one, of_guid.key: two}


async def test_playing_states_are_of_the_account_and_under_the_first_url(service, store, clock):
    anna, ben = [await account(service, name, URL) for name in ("anna", "ben")]
    admitted = Admitted(await service.accounts.named("anna"), "test")
    await service.url_lists.move(anna, URL, MOVED, TESTER, notify_apps=False)
    sent = [
        SentAction(MOVED, file(1), "phone", "play", 1, 0, 30, 60),
        SentAction(URL, file(2), "phone", "play", 1, 0, 60, 60),
        *(SentAction(URL, file(n), "phone", "delete", 2) for n in (1, 3)),
    ]
    await service.episode_actions.record(admitted, sent)
    hers = await subscription(service, anna, MOVED)
    some = episodes(1, 2, 3, 4)
    playing = await service.episodes.playing(anna, hers, some)
    assert playing == {some[0]: Playing(30, 60), some[1]: Playing(60, 60)}
    assert await service.episodes.playing(anna, hers, ()) == {}
    his = await subscription(service, ben)
    assert await service.episodes.playing(ben, his, some) == {}
