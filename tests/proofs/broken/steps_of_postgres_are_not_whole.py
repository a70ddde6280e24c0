"""What brings a PostgreSQL database up to date is no transaction."""

from feedkeep.store.postgres import connections

connections._BEGIN = "SELECT 1;"
