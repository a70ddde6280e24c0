"""A worker that gives no sign of life is killed after two seconds, and each gives ten in one."""

from feedkeep.cli import workers

workers.HUNG_SECONDS = 2.0
workers.PULSE_SECONDS = 0.1
