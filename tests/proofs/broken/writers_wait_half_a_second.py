"""Who wants to write waits half a second for a database that is locked."""

from feedkeep.store.sqlite import connection, runner

for module in (connection, runner):
    vars(module)["WRITER_PATIENCE_SECONDS"] = 0.5
