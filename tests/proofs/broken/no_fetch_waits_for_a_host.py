"""A host is asked by all who want to ask it, at the same time."""

from contextlib import nullcontext

from feedkeep.outbound.host_locks import HostLocks

HostLocks.at = lambda *_: nullcontext()
