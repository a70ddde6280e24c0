"""Who wants to write waits half a second for a database that is locked."""

from feedkeep.store.sqlite import connection, runner

connection.WRITER_PATIENCE_SECONDS = 0.5
runner.WRITER_PATIENCE_SECONDS = 0.5
