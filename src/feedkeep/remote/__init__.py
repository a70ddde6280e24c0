"""Clients of other servers, whose subscriptions come over to this one."""
