"""Run the drills of `make prove-cluster`, or say that there is no Citus.

Exits with 0 if every drill that ran passed, and also if there is no Citus and no place was named
for it; then it says that nothing was run. Exits with 2 if the named place has no Citus.
"""

import os
import sys
from pathlib import Path

from machines import programs_with_citus


def main():
    """Return the exit status where nothing is run; else become pytest."""
    prefix = os.environ.get("CLUSTER_PREFIX", "")
    if os.environ.get("CLUSTER_COORDINATOR"):
        if not os.environ.get("CLUSTER_WORKERS"):
            print("COORDINATOR= needs WORKERS=, with the URL of each worker.", file=sys.stderr)
            return 2
    elif programs_with_citus(prefix) is None:
        if prefix:
            print(f"not run: no Citus in {prefix}", file=sys.stderr)
            return 2
        print("not run: no Citus here (CLUSTER_PREFIX= or COORDINATOR= and WORKERS= name one)")
        return 0
    os.environ["CLUSTER_DRILL"] = "1"
    sys.stdout.flush()
    # A database that starts again refuses connections, and asyncpg leaves some of these open.
    unclosed = "-Wignore::pytest.PytestUnraisableExceptionWarning"
    patient = "-ofaulthandler_timeout=10000"
    drills = [str(Path(__file__).parent), "-rs", unclosed, patient, *sys.argv[1:]]
    pytest = [sys.executable, "-m", "pytest", *drills]
    return os.execv(sys.executable, pytest)


if __name__ == "__main__":
    sys.exit(main())
