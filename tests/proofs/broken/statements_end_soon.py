"""PostgreSQL answers within two seconds, or fails; an outage ends one second after a failure."""

from feedkeep.http import error_responses
from feedkeep.store.postgres import breaker, connections

breaker.SUSPECT_SECONDS = 0.1
connections.STATEMENT_SECONDS = 2.0
error_responses.QUIET_SECONDS = 1.0
