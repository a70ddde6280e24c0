"""The process that looks at feeds is broken as the one is that serves; else it runs as it is."""

from feedkeep.feeds import fetcher_process

fetcher_process._PASSED_ON = (*fetcher_process._PASSED_ON, "RUN_FIRST", "RAN_FIRST")
