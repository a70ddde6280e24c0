"""Breaks feedkeep by the line in `BROKEN_LINE`: see `WAYS` in `test_score`."""

import os
import re

import feedkeep.service.episode_actions as sent_actions
from feedkeep.gpodder import authenticator, devices
from feedkeep.gpodder.routes import LoginResource, LogoutResource
from feedkeep.http import error_responses, requests
from feedkeep.http.responses import JsonResponse
from feedkeep.openpodcast import paging, resources, wire
from feedkeep.rules import draft, episode_actions, feed_urls, seconds, subscriptions, url_lists
from feedkeep.security import throttle
from feedkeep.url_sync import handlers, messages

__all__ = [
    "JsonResponse", "LoginResource", "LogoutResource", "authenticator", "devices", "draft",
    "episode_actions", "error_responses", "feed_urls", "handlers", "messages", "paging", "re",
    "requests", "resources", "seconds", "sent_actions", "subscriptions", "throttle", "url_lists",
    "wire",
]  # fmt: skip

exec(os.environ["BROKEN_LINE"])  # noqa: S102 - a line of the test
