"""Programs that a service under test runs before anything else: see `FeedkeepProcess.run_first`.

Most break one promise on purpose, so that a proof can show that it notices. The others make
something cheap, countable or quick. A name that feedkeep no longer has is an error for mypy.
"""
