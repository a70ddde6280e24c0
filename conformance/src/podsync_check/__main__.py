"""Entry point of `python -m podsync_check`."""

import sys

from podsync_check.cli import main

sys.exit(main())
