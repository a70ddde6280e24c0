"""Data of each release are read by this version, and by a newer one with made-up migrations."""

import pytest
import story
from authors import TESTER
from further_steps import EACH, with_further
from postgres_server import drop_database, new_database
from stores import service_on
from whole_store import damages_of

from feedkeep.assembly import open_store
from feedkeep.config.settings import Settings
from feedkeep.model import Second, Stamp
from feedkeep.rules.credentials import read_token
from feedkeep.rules.undo import Undo
from feedkeep.store import migrate
from feedkeep.store.migrate import newest_version

RELEASES = {"1.0.0": 105}
"""The version of the schema in each release."""

A_WEEK_LATER = Stamp(story.WRITTEN_US + 7 * 86_400_000_000)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'feedkeep.db'}"
        return
    server = request.getfixturevalue("postgres")
    url = new_database(server)
    yield url
    drop_database(server, url)


@pytest.mark.parametrize("steps", [(), EACH], ids=["this", "newer"])
@pytest.mark.parametrize("release", RELEASES)
async def test_a_release_is_read_whole_by_each_later_version(release, steps, database, monkeypatch):
    token = story.load(release, database)
    monkeypatch.setattr(migrate, "migrations", with_further(*steps))
    store = await open_store(Settings(database=database), now=lambda: A_WEEK_LATER)
    service = service_on(store, lambda: A_WEEK_LATER)
    assert await damages_of(service) == []

    ada = await service.authentication.admit_person("ada", story.PASSWORD, "192.0.2.1")
    assert ada.account.is_admin
    app = await service.authentication.admit(read_token(token), "192.0.2.1")
    assert app.account == ada.account
    account_id = ada.account.id

    feeds = {feed.feed_url for feed in await service.subscriptions.subscribed(account_id)}
    assert feeds == {story.MOVED_TO, story.KEPT}
    labels = await service.feed_labels.of(account_id)
    assert labels.title(story.MOVED_TO) == "My radio"
    assert labels.folder(story.MOVED_TO) == "News/Daily"
    for url, leads_to in {
        story.MOVED: story.MOVED_TO,
        story.DUPLICATE: story.KEPT,
        story.LEFT: story.LEFT,
    }.items():
        view = await service.subscriptions.view(account_id, story.guid_of(url))
        assert view.subscription.feed_url == leads_to
    view = await service.subscriptions.view(account_id, story.guid_of(story.DELETED))
    assert view.subscription.deleted is not None

    listed = await service.episode_actions.since(app, Second(0))
    positions = {one.episode: one.position async for page in listed.pages for one in page}
    assert positions == {f"{story.MOVED}/1.mp3": 900, f"{story.KEPT}/1.mp3": 60}
    assert [one.caption for one in await service.devices.all(account_id)] == ["Ada's phone"]
    assert await service.devices.settings(account_id, "account") == '{"public":false}'

    ben = await service.accounts.named("Ben")
    newest = (await service.history.page(ben.id)).changes[0]
    undone = await service.history.undo(ben.id, Undo([newest.stamp]), TESTER)
    assert undone.feeds == len(story.MANY)
    await service._last_uses.close()
    service._passwords.close()
    await store.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_schema_is_that_of_the_newest_release(kind):
    """Since 1.0.0, each change of the schema is a migration, which the next release adds here."""
    assert newest_version(kind) == list(RELEASES.values())[-1]
