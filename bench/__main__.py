"""python -m bench: measure, print, and write tables and plots to build/bench."""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from bench import cases, databases, fetching, growth, history, metrics, pages, throughput
from bench.data import Population, write_etags
from bench.subjects import FEEDKEEP, Subject, feedkeep, floor
from bench.throughput import Calm, Result
from bench.wrk import check_installed, load
from feedkeep.runtime.logs import configure_logs

OUTPUT = Path("build/bench")
POPULATION = Population(10_000, 100)
QUICK_POPULATION = Population(1_000, 100)
IMPORTED = 100_000
SOAK_SECONDS = 600


def main() -> None:
    """Run the chosen parts; by default all but `quick`, `metrics` and `soak`."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("what", nargs="*", metavar="what", help=f"of {', '.join(_DO)}")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each case")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a run")
    chosen = parser.parse_args()
    if unknown := set(chosen.what) - set(_DO):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(_DO)}")
    check_installed()
    with _folder() as folder:
        for what in chosen.what or (
            "throughput",
            "growth",
            "import",
            "pages",
            "history",
            "fetching",
        ):
            _DO[what](folder, chosen.rounds, chosen.seconds)


def _quick(folder: Path, _rounds: int, _seconds: float) -> None:
    database = databases.sqlite(folder)()
    with _prepared("SQLite", database, QUICK_POPULATION, folder) as (subject, base, sample):
        for case in cases.QUICK:
            result = throughput.measure(subject, base, case, sample, rounds=3, seconds=2)
            print(f"{case.load} {result.ratio:.3f}", flush=True)


def _throughput(folder: Path, rounds: int, seconds: float) -> None:
    results: list[Result] = []
    calm: list[Calm] = []
    workers: list[str] = []
    with databases.postgres() as new_postgres:
        for store, database in (
            ("SQLite", databases.sqlite(folder)()),
            ("PostgreSQL", new_postgres()),
        ):
            with _prepared(store, database, POPULATION, folder) as (subject, base, sample):
                for result in _all_cases(subject, base, sample, rounds, seconds):
                    results.append(result)
                    print(f"{store:10} {result.name:28} {result.ratio:.3f}", flush=True)
                for case in (cases.GET, cases.POST):
                    full = next(r for r in results if (r.store, r.name) == (store, case.name))
                    calm.append(throughput.measure_calm(subject, case, full, sample, 2 * seconds))
                workers += _two_processes(subject, database, sample, rounds, seconds)
    from bench import report  # noqa: PLC0415 - `quick` needs no matplotlib

    told = (
        f"{report.machine()}\n\n{report.throughput_table(results)}\n{report.calm_table(calm)}\n"
        f"Two processes, as a multiple of one: {'; '.join(workers)}.\n"
    )
    _write("throughput.md", told)


def _all_cases(
    subject: Subject, base: Subject, sample: Path, rounds: int, seconds: float
) -> Iterator[Result]:
    etags = write_etags(subject.url, sample)
    for case in cases.ALL:
        used = etags if case.load == "known" else sample
        yield throughput.measure(subject, base, case, used, rounds, seconds)


def _two_processes(
    one: Subject, database: str, sample: Path, rounds: int, seconds: float
) -> Iterator[str]:
    with feedkeep(f"{one.name}, 2 processes", database, workers=2) as two:
        time.sleep(2)  # until both have started
        for case in (cases.GET, cases.POST, cases.POST_100):
            runs = throughput.compare(one, two, case, (sample, sample), rounds, seconds)
            ratios = [more.per_second / fewer.per_second for fewer, more in runs]
            yield f"{one.name}, {case.name} {median(ratios):.2f}"


def _growth(folder: Path, rounds: int, seconds: float) -> None:
    grown = list(growth.measure("SQLite", databases.sqlite(folder), databases.sqlite_bytes,
                                folder, rounds, seconds))  # fmt: skip
    with databases.postgres() as new_postgres:
        grown += growth.measure("PostgreSQL", new_postgres, databases.postgres_bytes,
                                folder, rounds, seconds)  # fmt: skip
    from bench import report  # noqa: PLC0415 - `quick` needs no matplotlib

    _write("growth.md", f"{report.machine()}\n\n{report.growth_table(grown)}")
    report.plot_growth(grown, OUTPUT / "growth.png")


def _import(folder: Path, rounds: int, _seconds: float) -> None:
    outlines = "\n".join(
        f'<outline type="rss" text="{number}" xmlUrl="https://feeds.example/{number}/rss"/>'
        for number in range(IMPORTED)
    )
    file = folder / "feeds.opml"
    file.write_text(f'<opml version="2.0"><body>\n{outlines}\n</body></opml>\n')
    rates = []
    for number in range(rounds):
        database = f"sqlite:///{folder}/import-{number}.db"
        _command(database, "account", "create", "me")
        begun = time.monotonic()
        _command(database, "import", "me", str(file))
        rates.append(IMPORTED / (time.monotonic() - begun))
    _write("import.md", f"Import of {IMPORTED:,} feeds from OPML: {median(rates):,.0f} a second"
           f" ({min(rates):,.0f} to {max(rates):,.0f}).\n")  # fmt: skip


def _pages(folder: Path, rounds: int, _seconds: float) -> None:
    configure_logs("warning")
    _write("pages.md", pages.table(asyncio.run(pages.measure(folder, rounds))))


def _fetching(folder: Path, rounds: int, seconds: float) -> None:
    new_database = databases.sqlite(folder)
    _write("fetching.md", fetching.table(*fetching.measure(new_database, folder, rounds, seconds)))


def _history(folder: Path, rounds: int, seconds: float) -> None:
    new_database = databases.sqlite(folder)
    _write("history.md", history.table(*history.measure(new_database, folder, rounds, seconds)))


def _metrics(folder: Path, rounds: int, seconds: float) -> None:
    new_database = databases.sqlite(folder)
    configure_logs("info")
    added = asyncio.run(metrics.measure_application(folder, rounds))
    whole = metrics.measure(new_database, folder, rounds, seconds)
    _write("metrics.md", metrics.table(added, whole))


def _soak(folder: Path, _rounds: int, _seconds: float) -> None:
    database = databases.sqlite(folder)()
    told = []
    with _prepared("SQLite", database, POPULATION, folder) as (subject, _, sample):
        deadline = time.monotonic() + SOAK_SECONDS
        while time.monotonic() < deadline:
            case = random.choice(cases.ALL[2:])
            load(subject.url, case.load, sample, case.connections, 10)
            told.append(f"{subject.memory_mib():.1f}")
            print(told[-1], flush=True)
    _write("soak.md", f"Memory in MiB, each 10 seconds: {', '.join(told)}.\n")


@contextmanager
def _prepared(
    store: str, database: str, population: Population, folder: Path
) -> Iterator[tuple[Subject, Subject, Path]]:
    """Context manager: fill a database, and start the service on it, and the floor."""
    asyncio.run(population.fill(database))
    sample = population.write_sample(folder / "sample")
    with ExitStack() as stack:
        subject = stack.enter_context(feedkeep(store, database))
        yield subject, stack.enter_context(floor()), sample


@contextmanager
def _folder() -> Iterator[Path]:
    """Context manager: a temporary folder on disk, so that commits have their real cost."""
    Path("build").mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir="build")).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _command(database: str, *arguments: str) -> None:
    subprocess.run(
        [FEEDKEEP, *arguments, "--database", database], check=True, stdout=subprocess.DEVNULL
    )


def _write(name: str, text: str) -> None:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    (OUTPUT / name).write_text(text)
    sys.stdout.write(f"\n{text}\n")


_DO: dict[str, Callable[[Path, int, float], None]] = {
    "quick": _quick,
    "throughput": _throughput,
    "growth": _growth,
    "import": _import,
    "pages": _pages,
    "history": _history,
    "fetching": _fetching,
    "metrics": _metrics,
    "soak": _soak,
}

if __name__ == "__main__":
    main()
