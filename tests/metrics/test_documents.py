"""What the documents, the dashboard and the alerts say of metrics is what is told."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from told_metrics import Scrape

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


def rules() -> list[dict]:
    groups = yaml.safe_load(ALERTS.read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions_of_the_dashboard() -> list[str]:
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    found = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    return [one.replace("$__rate_interval", "5m").replace("$instance", ".*") for one in found]


def labels_of(*scrapes: Scrape) -> dict[str, dict[str, set[str]]]:
    """Return the labels of each sample that is told, and their values."""
    found: dict[str, dict[str, set[str]]] = {}
    for sample in (sample for scrape in scrapes for sample in scrape.samples):
        labels = found.setdefault(sample.name, {})
        for name, value in sample.labels.items():
            labels.setdefault(name, set()).add(value)
    return found


def mistakes(expression: str, told: Mapping[str, Mapping[str, set[str]]]) -> Iterator[str]:
    """Yield what an expression names that is not told."""
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
def told_labels(of_sqlite, of_postgres):
    return labels_of(of_sqlite, of_postgres)


def test_alerts_and_dashboard_name_what_is_told(told_labels):
    expressions = [*(rule["expr"] for rule in rules()), *expressions_of_the_dashboard()]
    assert len(expressions) > 40
    assert {one: found for one in expressions if (found := list(mistakes(one, told_labels)))} == {}
    shown = " ".join(expressions)
    own = {
        re.sub("_(bucket|count|sum)$", "", name) for name in told_labels if name.startswith("feed")
    }
    assert [name for name in own if name not in shown] == []


@pytest.mark.parametrize(
    "expression",
    [
        "feedkeep_nothing",
        "rate(feedkeep_http_requests[5m])",
        'feedkeep_http_requests_total{path="/"}',
        "sum by (path) (feedkeep_http_requests_total)",
        'feedkeep_fetches_total{result=~"crashed|burnt"}',
        'feedkeep_http_request_duration_seconds{route="/"}',
    ],
)
def test_the_comparison_notices(expression, of_sqlite):
    assert list(mistakes(expression, labels_of(of_sqlite))) != []


def test_every_metric_is_in_the_documents_as_it_is_told(of_sqlite, of_postgres):
    _, _, behind = MONITORING.partition("| metric | type | labels | meaning |\n|---|---|---|---|\n")
    rows = [line.strip("| ").split(" | ") for line in behind.partition("\n\n")[0].splitlines()]
    written = {name.strip("`"): (kind, labels, text) for name, kind, labels, text in rows}
    found: dict[str, tuple[str, str, str]] = {}
    for family in (*of_sqlite.families, *of_postgres.families):
        # Of two processes, one has answered nothing yet; and a library describes the process.
        if not family.samples or not family.name.startswith("feedkeep"):
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = [one for one in family.samples[0].labels if one != "le"]
        shown = ", ".join(f"`{one}`" for one in sorted(labels))
        found[name] = (family.type, shown, family.documentation)
    assert written == found


def test_every_alert_has_a_summary_a_reason_and_a_severity():
    assert all(rule["annotations"]["summary"] and rule["annotations"]["reason"] for rule in rules())
    assert all(rule["labels"]["severity"] for rule in rules())


def test_no_alert_fires_at_once_and_each_comparison_of_requests_asks_for_enough_of_them():
    assert [rule["alert"] for rule in rules() if "for" not in rule] == []
    shares = [rule for rule in rules() if "/ sum" in rule["expr"] or "_quantile" in rule["expr"]]
    assert len(shares) == 4
    assert [rule["alert"] for rule in shares if "and sum" not in rule["expr"]] == []


def test_every_alert_has_a_case_in_which_it_fires():
    assert FIRES.keys() == {rule["alert"] for rule in rules()}


def test_prometheus_itself_takes_them_and_each_alert_fires_when_it_should(
    of_sqlite, of_postgres, tmp_path
):
    """Where there is no promtool, the summary of the tests says that this was not checked."""
    promtool = shutil.which("promtool")
    if promtool is None:
        return
    for scrape in (of_sqlite, of_postgres):
        run([promtool, "check", "metrics"], scrape.text)
    shown = [{"record": f"x:{n}", "expr": e} for n, e in enumerate(expressions_of_the_dashboard())]
    as_rules, cases = tmp_path / "dashboard.yml", tmp_path / "cases.yml"
    as_rules.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": shown}]}))
    run([promtool, "check", "rules", str(ALERTS), str(as_rules)])
    tests = [case(series, at, {alert}) for alert, (series, at) in FIRES.items()]
    tests.append(case(FIRES_TOO["FeedkeepDiskFull"], "420m", {"FeedkeepDiskFull"}))
    tests.append(case(ALL_IS_WELL, "420m", set()))
    tests += [case(FEW_FAILURES_IN_A_FAMILY, f"{at}m", set()) for at in (*range(1, 40), 70, 90)]
    cases.write_text(yaml.safe_dump({"rule_files": [str(ALERTS)], "tests": tests}))
    run([promtool, "test", "rules", str(cases)])


def case(series: Mapping[str, str], at: str, firing: set[str]) -> dict:
    """Return a test in promtool's words: which alerts fire after these series."""
    expected = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in sorted(firing)]
    series = {f"up{{{PROCESS}}}": "1x3000"} | dict(series)
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": at,
                "exp_samples": expected,
            }
        ],
    }


def run(command: list[str], stdin: str = "") -> None:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


PROCESS = 'job="feedkeep",instance="a"'
SECONDS = "feedkeep_http_request_duration_seconds_bucket"
COMMITS = "feedkeep_store_commit_duration_seconds_bucket"
FIRES: dict[str, tuple[dict[str, str], str]] = {
    "FeedkeepDown": ({f"up{{{PROCESS}}}": "0x10"}, "5m"),
    "FeedkeepNotReady": ({f"feedkeep_ready{{{PROCESS}}}": "1x5 0x20"}, "10m"),
    "FeedkeepRestarts": ({f"process_start_time_seconds{{{PROCESS}}}": "1+1x70"}, "60m"),
    "FeedkeepErrors": (
        {
            'feedkeep_http_requests_total{status="200"}': "0+100x30",
            'feedkeep_http_requests_total{status="503"}': "0+5x30",
        },
        "20m",
    ),
    "FeedkeepSlow": (
        {
            f'{SECONDS}{{le="2.5"}}': "0+50x60",
            f'{SECONDS}{{le="5.0"}}': "0+100x60",
            f'{SECONDS}{{le="+Inf"}}': "0+100x60",
            "feedkeep_http_request_duration_seconds_count": "0+100x60",
        },
        "40m",
    ),
    "FeedkeepCommitsFail": ({"feedkeep_store_failed_commits_total": "0x5 10x20"}, "12m"),
    "FeedkeepCommitsSlow": (
        {
            f'{COMMITS}{{le="0.25"}}': "0+10x60",
            f'{COMMITS}{{le="1.0"}}': "0+100x60",
            f'{COMMITS}{{le="+Inf"}}': "0+100x60",
            "feedkeep_store_commit_duration_seconds_count": "0+100x60",
        },
        "40m",
    ),
    "FeedkeepPoolExhausted": (
        {
            f'feedkeep_postgres_connections{{state="busy",{PROCESS}}}': "8x20",
            f'feedkeep_postgres_connections{{state="idle",{PROCESS}}}': "0x20",
            f"feedkeep_postgres_max_connections{{{PROCESS}}}": "8x20",
        },
        "10m",
    ),
    "FeedkeepDiskFull": ({"feedkeep_sqlite_free_bytes": "400000000x40"}, "30m"),
    "FeedkeepBackupOld": ({"feedkeep_last_backup_timestamp_seconds": "0x3000"}, "2900m"),
    "FeedkeepWalGrows": ({"feedkeep_sqlite_wal_bytes": "300000000x40"}, "30m"),
    "FeedkeepFailedLogins": ({"feedkeep_wrong_passwords_total": "0+10x40"}, "30m"),
    "FeedkeepNoFetches": (
        {
            'feedkeep_fetches_total{result="read"}': "5x1500",
            'feedkeep_feeds{health="read"}': "200x1500",
        },
        "1460m",
    ),
    "FeedkeepNetwork": (
        {
            'feedkeep_fetches_total{result="no-connection"}': "0+10x200",
            'feedkeep_fetches_total{result="read"}': "0+5x200",
        },
        "180m",
    ),
    "FeedkeepReaderCrashes": (
        {'feedkeep_fetches_total{result="crashed"}': "0+1x100"},
        "80m",
    ),
    "FeedkeepOpenFiles": (
        {f"process_open_fds{{{PROCESS}}}": "900x40", f"process_max_fds{{{PROCESS}}}": "1000x40"},
        "30m",
    ),
}
FIRES_TOO = {"FeedkeepDiskFull": {"feedkeep_sqlite_free_bytes": "10000000000-10000000x500"}}
ALL_IS_WELL = {
    f"up{{{PROCESS}}}": "1x500",
    f"process_start_time_seconds{{{PROCESS}}}": "1x500",
    f"feedkeep_ready{{{PROCESS}}}": "1x500",
    "feedkeep_last_backup_timestamp_seconds": "0x500",
    'feedkeep_http_requests_total{status="200"}': "0+1000x500",
    'feedkeep_http_requests_total{status="503"}': "0+1x500",
    f'{SECONDS}{{le="2.5"}}': "0+1000x500",
    f'{SECONDS}{{le="5.0"}}': "0+1001x500",
    f'{SECONDS}{{le="+Inf"}}': "0+1001x500",
    "feedkeep_http_request_duration_seconds_count": "0+1001x500",
    "feedkeep_store_failed_commits_total": "0x500",
    f'{COMMITS}{{le="0.25"}}': "0+95x500",
    f'{COMMITS}{{le="1.0"}}': "0+100x500",
    f'{COMMITS}{{le="+Inf"}}': "0+100x500",
    "feedkeep_store_commit_duration_seconds_count": "0+100x500",
    f'feedkeep_postgres_connections{{state="busy",{PROCESS}}}': "7x500",
    f'feedkeep_postgres_connections{{state="idle",{PROCESS}}}': "1x500",
    f"feedkeep_postgres_max_connections{{{PROCESS}}}": "8x500",
    "feedkeep_sqlite_free_bytes": "10000000000-1000000x500",
    "feedkeep_sqlite_wal_bytes": "4000000x500",
    "feedkeep_wrong_passwords_total": "0+1x500",
    'feedkeep_fetches_total{result="read"}': "0+5x500",
    'feedkeep_fetches_total{result="no-connection"}': "0+1x500",
    'feedkeep_fetches_total{result="crashed"}': "0x500",
    'feedkeep_feeds{health="read"}': "200x500",
    f"process_open_fds{{{PROCESS}}}": "100x500",
    f"process_max_fds{{{PROCESS}}}": "1000x500",
}

FEW_FAILURES_IN_A_FAMILY = {
    'feedkeep_http_requests_total{status="200"}': "0x5 1x60",
    'feedkeep_http_requests_total{status="503"}': "0x5 1x3 2x3 3x60",
    f'{SECONDS}{{le="2.5"}}': "0x60",
    f'{SECONDS}{{le="5.0"}}': "0x5 1x3 2x3 3x60",
    f'{SECONDS}{{le="+Inf"}}': "0x5 1x3 2x3 3x60",
    "feedkeep_http_request_duration_seconds_count": "0x5 1x3 2x3 3x60",
    "feedkeep_store_failed_commits_total": "0x5 1x3 2x3 3x60",
    f'{COMMITS}{{le="0.25"}}': "0x60",
    f'{COMMITS}{{le="1.0"}}': "0x5 1x3 2x3 3x60",
    f'{COMMITS}{{le="+Inf"}}': "0x5 1x3 2x3 3x60",
    "feedkeep_store_commit_duration_seconds_count": "0x5 1x3 2x3 3x60",
    'feedkeep_fetches_total{result="no-connection"}': "0x5 1x200",
}
"""Of a few requests within ten minutes, three are slow, and fail; one feed is away."""
