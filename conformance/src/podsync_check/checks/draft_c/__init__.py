"""Checks of `/sync`, of the Open Podcast API's draft C: pull request 171, which may change."""
