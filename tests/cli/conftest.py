"""Commands where no service runs."""

import pytest
from feedkeep_process import FeedkeepProcess
from postgres_server import drop_database, new_database


@pytest.fixture
def offline(request, tmp_path):
    """Commands on a database that does not exist yet: in SQLite, unless a test names a store."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield FeedkeepProcess(tmp_path)
        return
    server = request.getfixturevalue("postgres")
    database = new_database(server)
    yield FeedkeepProcess(tmp_path, database)
    drop_database(server, database)
