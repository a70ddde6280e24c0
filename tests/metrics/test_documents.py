"""The metrics named by the documents, the dashboard and the alerts are exported."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "feedkeep.json"
MONITORING = (ROOT / "docs" / "monitoring.md").read_text("utf-8")

OF_PROMETHEUS = {"up": {"job", "instance"}}
ADDED = {"job", "instance"}
"""The labels that Prometheus adds to each sample."""

KNOWN_VALUES = {"kind", "state", "health", "purpose", "result", "database"}
"""The labels all of whose values are told from the start."""

_SELECTOR = re.compile(r"\b(up|(?:feedkeep|process)_\w+)(?:{([^}]*)})?")
_MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
_GROUPED = re.compile(r"\b(?:by|without|on|ignoring) \(([^)]*)\)")


RULES = [
    rule for group in yaml.safe_load(ALERTS.read_text("utf-8"))["groups"] for rule in group["rules"]
]


def expressions_of_the_dashboard() -> list[str]:
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    found = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    return [one.replace("$__rate_interval", "5m").replace("$instance", ".*") for one in found]


def labels_of(*scrapes):
    """Return the labels of each sample that is told, and their values."""
    found = {}
    for sample in (sample for scrape in scrapes for sample in scrape.samples):
        labels = found.setdefault(sample.name, {})
        for name, value in sample.labels.items():
            labels.setdefault(name, set()).add(value)
    return found


def mistakes(expression, told):
    """Yield the metrics, labels and values of an expression that are not exported."""
    grouped_by = ADDED.copy()
    for name, matchers in _SELECTOR.findall(expression):
        if name not in told and name not in OF_PROMETHEUS:
            yield name
            continue
        labels = told.get(name, {})
        grouped_by |= labels.keys()
        for label, operator, value in _MATCHER.findall(matchers):
            if label not in labels and label not in ADDED:
                yield f"{name} {label}"
            elif label in KNOWN_VALUES and operator in {"=", "=~"}:
                yield from (f"{name} {one}" for one in set(value.split("|")) - labels[label])
    for names in _GROUPED.findall(expression):
        yield from (f"by {name}" for name in re.findall(r"\w+", names) if name not in grouped_by)


@pytest.fixture
def of_both(sqlite, two_workers):
    """Metrics of a service on each store."""
    return sqlite.each[0], two_workers.each[0]


def test_alerts_and_dashboard_name_what_is_told(of_both):
    told = labels_of(*of_both)
    expressions = [*(rule["expr"] for rule in RULES), *expressions_of_the_dashboard()]
    assert len(expressions) > 40
    assert {one: found for one in expressions if (found := list(mistakes(one, told)))} == {}
    shown = " ".join(expressions)
    own = {re.sub("_(bucket|count|sum)$", "", name) for name in told if name.startswith("feed")}
    assert [name for name in own if name not in shown] == []


@pytest.mark.parametrize(
    "expression",
    [
        "feedkeep_nothing", "rate(feedkeep_http_requests[5m])",
        'feedkeep_http_requests_total{path="/"}', 'feedkeep_fetches_total{result=~"crashed|burnt"}',
        "sum by (path) (feedkeep_http_requests_total)",
        'feedkeep_http_request_duration_seconds{route="/"}',
    ],
)  # fmt: skip
def test_the_comparison_notices(expression, of_sqlite):
    assert list(mistakes(expression, labels_of(of_sqlite))) != []


def test_every_metric_is_in_the_documents_as_it_is_told(of_both):
    _, _, behind = MONITORING.partition("| metric | type | labels | meaning |\n|---|---|---|---|\n")
    rows = [line.strip("| ").split(" | ") for line in behind.partition("\n\n")[0].splitlines()]
    written = {name.strip("`"): (kind, labels, text) for name, kind, labels, text in rows}
    found = {}
    for family in (family for one in of_both for family in one.families):
        # Of two processes, one has answered nothing yet; and a library describes the process.
        if not family.samples or not family.name.startswith("feedkeep"):
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = [one for one in family.samples[0].labels if one != "le"]
        shown = ", ".join(f"`{one}`" for one in sorted(labels))
        found[name] = (family.type, shown, family.documentation)
    assert written == found


def test_every_alert_says_why_waits_compares_enough_requests_and_has_a_case_in_which_it_fires():
    for rule in RULES:
        notes = rule["annotations"]
        assert all((notes["summary"], notes["reason"], rule["labels"]["severity"])), rule
    assert [rule["alert"] for rule in RULES if "for" not in rule] == []
    shares = [rule for rule in RULES if "/ sum" in rule["expr"] or "_quantile" in rule["expr"]]
    assert len(shares) == 4
    assert [rule["alert"] for rule in shares if "and sum" not in rule["expr"]] == []
    assert FIRES.keys() == {rule["alert"] for rule in RULES}


def test_prometheus_itself_takes_them_and_each_alert_fires_when_it_should(of_both, tmp_path):
    """Without promtool, the summary of the tests says that this was not checked."""
    promtool = shutil.which("promtool")
    if promtool is None:
        return
    for scrape in of_both:
        run([promtool, "check", "metrics"], scrape.text)
    shown = [{"record": f"x:{n}", "expr": e} for n, e in enumerate(expressions_of_the_dashboard())]
    as_rules, cases = tmp_path / "dashboard.yml", tmp_path / "cases.yml"
    as_rules.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": shown}]}))
    run([promtool, "check", "rules", str(ALERTS), str(as_rules)])
    tests = [case(series, {at: alert}) for alert, (series, at) in FIRES.items()]
    tests.append(case(FILLS_THE_DISK, {"420m": "FeedkeepDiskFull"}))
    tests.append(case(ALL_IS_WELL, {"420m": None}))
    each_minute = (f"{minute}m" for minute in (*range(1, 40), 70, 90))
    tests.append(case(FEW_FAILURES_IN_A_FAMILY, dict.fromkeys(each_minute)))
    cases.write_text(yaml.safe_dump({"rule_files": [str(ALERTS)], "tests": tests}))
    run([promtool, "test", "rules", str(cases)])


def case(series, firing):
    """Return a test in promtool's words: which alert, or none, fires at some times."""
    series = {of_a("up"): "1x3000"} | series
    expression = 'count by (alertname) (ALERTS{alertstate="firing"})'
    samples = {
        at: [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if alert else []
        for at, alert in firing.items()
    }
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {"expr": expression, "eval_time": at, "exp_samples": expected}
            for at, expected in samples.items()
        ],
    }


def run(command: list[str], stdin: str = "") -> None:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def of_a(name: str, labels: str = "") -> str:
    """Return the series of one process."""
    return f'{name}{{{labels}job="feedkeep",instance="a"}}'


def replies(ok: str, failed: str) -> dict[str, str]:
    name = "feedkeep_http_requests_total"
    return {f'{name}{{status="200"}}': ok, f'{name}{{status="503"}}': failed}


def durations(of: str, bounds: tuple[str, str], fast: str, all_of_them: str) -> dict[str, str]:
    """Return a histogram: how many took as long as one bound at most, and all as the other."""
    shares = {bounds[0]: fast, bounds[1]: all_of_them, "+Inf": all_of_them}
    buckets = {f'{of}_bucket{{le="{bound}"}}': share for bound, share in shares.items()}
    return buckets | {f"{of}_count": all_of_them}


def pool(busy: str, idle: str, most: str) -> dict[str, str]:
    name, states = "feedkeep_postgres_connections", {"busy": busy, "idle": idle}
    shares = {of_a(name, f'state="{state}",'): count for state, count in states.items()}
    return shares | {of_a("feedkeep_postgres_max_connections"): most}


def fetches(result: str, count: str) -> dict[str, str]:
    return {f'feedkeep_fetches_total{{result="{result}"}}': count}


def files(opened: str, most: str) -> dict[str, str]:
    return {of_a("process_open_fds"): opened, of_a("process_max_fds"): most}


HTTP = "feedkeep_http_request_duration_seconds", ("2.5", "5.0")
COMMIT = "feedkeep_store_commit_duration_seconds", ("0.25", "1.0")
READ_FEEDS = 'feedkeep_feeds{health="read"}'
FIRES = {
    "FeedkeepDown": ({of_a("up"): "0x10"}, "5m"),
    "FeedkeepNotReady": ({of_a("feedkeep_ready"): "1x5 0x20"}, "10m"),
    "FeedkeepRestarts": ({of_a("process_start_time_seconds"): "1+1x70"}, "60m"),
    "FeedkeepErrors": (replies("0+100x30", "0+5x30"), "20m"),
    "FeedkeepSlow": (durations(*HTTP, "0+50x60", "0+100x60"), "40m"),
    "FeedkeepCommitsFail": ({"feedkeep_store_failed_commits_total": "0x5 10x20"}, "12m"),
    "FeedkeepCommitsSlow": (durations(*COMMIT, "0+10x60", "0+100x60"), "40m"),
    "FeedkeepPoolExhausted": (pool("8x20", "0x20", "8x20"), "10m"),
    "FeedkeepDiskFull": ({"feedkeep_sqlite_free_bytes": "400000000x40"}, "30m"),
    "FeedkeepBackupOld": ({"feedkeep_last_backup_timestamp_seconds": "0x3000"}, "2900m"),
    "FeedkeepWalGrows": ({"feedkeep_sqlite_wal_bytes": "300000000x40"}, "30m"),
    "FeedkeepFailedLogins": ({"feedkeep_wrong_passwords_total": "0+10x40"}, "30m"),
    "FeedkeepNoFetches": (fetches("read", "5x1500") | {READ_FEEDS: "200x1500"}, "1460m"),
    "FeedkeepNetwork": (fetches("no-connection", "0+10x200") | fetches("read", "0+5x200"), "180m"),
    "FeedkeepReaderCrashes": (fetches("crashed", "0+1x100"), "80m"),
    "FeedkeepOpenFiles": (files("900x40", "1000x40"), "30m"),
}
FILLS_THE_DISK = {"feedkeep_sqlite_free_bytes": "10000000000-10000000x500"}
ALL_IS_WELL = {
    of_a("up"): "1x500",
    of_a("process_start_time_seconds"): "1x500",
    of_a("feedkeep_ready"): "1x500",
    "feedkeep_last_backup_timestamp_seconds": "0x500",
    **replies("0+1000x500", "0+1x500"),
    **durations(*HTTP, "0+1000x500", "0+1001x500"),
    "feedkeep_store_failed_commits_total": "0x500",
    **durations(*COMMIT, "0+95x500", "0+100x500"),
    **pool("7x500", "1x500", "8x500"),
    "feedkeep_sqlite_free_bytes": "10000000000-1000000x500",
    "feedkeep_sqlite_wal_bytes": "4000000x500",
    "feedkeep_wrong_passwords_total": "0+1x500",
    **fetches("read", "0+5x500"),
    **fetches("no-connection", "0+1x500"),
    **fetches("crashed", "0x500"),
    READ_FEEDS: "200x500",
    **files("100x500", "1000x500"),
}

FEW = "0x5 1x3 2x3 3x60"
FEW_FAILURES_IN_A_FAMILY = {
    **replies("0x5 1x60", FEW),
    **durations(*HTTP, "0x60", FEW),
    "feedkeep_store_failed_commits_total": FEW,
    **durations(*COMMIT, "0x60", FEW),
    **fetches("no-connection", "0x5 1x200"),
}
"""Of a few requests within ten minutes, three are slow, and fail; one feed is away."""
