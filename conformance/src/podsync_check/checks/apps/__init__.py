"""Requirements for apps: objections to single requests, and hard cases of several requests."""
