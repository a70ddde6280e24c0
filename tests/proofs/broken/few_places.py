"""A process may have 300 files open."""

import resource

resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
