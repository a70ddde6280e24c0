"""JUnit XML report for CI services."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from podsync_check.curl import MAX_WRITTEN, commands
from podsync_check.running import Outcome, Report, Result

_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(report: Report) -> str:
    """Return the report with a test suite for each protocol."""
    suites = ET.Element("testsuites", name="podsync-check")
    for protocol in report.protocols:
        results = [result for result in report.results if result.protocol == protocol]
        outcomes = [result.outcome for result in results]
        suite = ET.SubElement(
            suites,
            "testsuite",
            name=protocol,
            tests=str(len(results)),
            failures=str(outcomes.count(Outcome.FAILED)),
            skipped=str(len(results) - sum(map(outcomes.count, _RUN))),
        )
        for result in results:
            suite.append(_case(result))
    return ET.tostring(suites, encoding="unicode", xml_declaration=True)


_RUN = (Outcome.PASSED, Outcome.FAILED)


def _case(result: Result) -> ET.Element:
    check = result.check
    case = ET.Element(
        "testcase",
        name=check.sentence,
        classname=f"{check.level}.{check.name}",
        time=f"{result.seconds:.3f}",
    )
    if result.outcome is Outcome.FAILED:
        failure = ET.SubElement(case, "failure", message=_clean(result.said))
        failure.text = _clean("\n".join(commands(result.exchanges, MAX_WRITTEN)))
    elif result.outcome is not Outcome.PASSED:
        ET.SubElement(case, "skipped", message=_clean(f"{result.outcome}: {result.said}"))
    return case


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("?", text)
