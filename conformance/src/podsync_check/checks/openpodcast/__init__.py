"""Checks of subscriptions in the Open Podcast API."""
