"""Checks of `/sync` in draft C of the Open Podcast API: pull request 171, which may change."""
