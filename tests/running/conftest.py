"""Databases of services that are started and stopped, and their service manager."""

import pytest
from postgres_server import drop_database, new_database
from running_services import Manager


@pytest.fixture
def store():
    return "sqlite"


@pytest.fixture
def database(request, store, tmp_path):
    """The URL of an empty database."""
    if store == "sqlite":
        yield f"sqlite:///{tmp_path / 'feedkeep.db'}"
        return
    server = request.getfixturevalue("postgres")
    url = new_database(server)
    yield url
    drop_database(server, url)


@pytest.fixture
def manager(tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    yield manager
    manager.socket.close()
