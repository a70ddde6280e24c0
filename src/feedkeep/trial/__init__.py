"""`feedkeep try`: a throw-away service that fails when told to, and says what it objects to."""
