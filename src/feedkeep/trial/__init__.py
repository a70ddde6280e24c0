"""What `feedkeep try` watches apps in front of: the real service on a throw-away database."""
