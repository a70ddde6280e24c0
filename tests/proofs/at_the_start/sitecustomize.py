"""Python runs this before anything else: the programs of `broken` that `RUN_FIRST` names.

Python goes on when this fails. So the process ends here, or it writes its number down: the test
that started it sees whether what was to be broken is broken (`FeedkeepProcess.run_first`). The
process that looks at feeds is given nothing of the environment that names them, and runs as it is.
"""

import importlib
import os
import sys
import traceback
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
try:
    if "RUN_FIRST" in os.environ:
        broken = importlib.import_module("broken")
        for name in os.environ["RUN_FIRST"].split():
            broken.run(name)
        with Path(os.environ["RAN_FIRST"]).open("a") as ran:
            ran.write(f"{os.getpid()}\n")
except BaseException:  # noqa: BLE001 - whatever it is, Python would go on
    traceback.print_exc()
    os._exit(1)
