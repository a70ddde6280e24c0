import asyncio, sys, tempfile, time
from pathlib import Path
from machines_of_a_year import PostgresMachine, SqliteMachine
from simulation import Year

accounts, days, seed = map(int, sys.argv[1:4])
MACHINES={'sqlite':SqliteMachine,'postgres':PostgresMachine}
with tempfile.TemporaryDirectory() as folder:
    began = time.monotonic()
    year = Year(MACHINES[sys.argv[4]](Path(folder), days), range(accounts), days, seed)
    report = asyncio.run(year.live(print))
    print(*report.wrong[:40], sep="\n")
    print(len(report.wrong), report.happened, report.syncs, report.events, report.in_doubt, time.monotonic() - began)
