"""Clients of other servers, for moving subscriptions to this one."""
