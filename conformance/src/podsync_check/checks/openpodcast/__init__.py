"""Checks of the Open Podcast API's subscriptions."""
