import asyncio, sys, tempfile, time
from pathlib import Path
from machines_of_a_year import Machine
from simulation import Year

accounts, days, seed = map(int, sys.argv[1:4])
with tempfile.TemporaryDirectory() as folder:
    began = time.monotonic()
    year = Year(Machine(Path(folder), days), range(accounts), days, seed)
    report = asyncio.run(year.live(print))
    print(*report.wrong[:40], sep="\n")
    print(len(report.wrong), report.happened, report.syncs, report.events, report.in_doubt, time.monotonic() - began)
