"""A control counts only if the service under test really is broken."""

import pytest
from feedkeep_process import DidNotRunFirst, FeedkeepProcess


@pytest.mark.parametrize(
    ("program", "reason"),
    [("cannot_be_imported", "ImportError: no such thing"), ("misspelt", "No module named")],
)
def test_a_program_that_fails_does_not_pass_for_a_broken_service(tmp_path, program, reason):
    process = FeedkeepProcess(tmp_path)
    process.run_first("few_places", program)
    with pytest.raises(DidNotRunFirst, match=reason):
        process.start()
    process.log.unlink()
    with pytest.raises(DidNotRunFirst, match=reason):
        process.run("account", "list")


def test_a_service_that_python_starts_without_its_program_does_not_pass_either(tmp_path):
    process = FeedkeepProcess(tmp_path)
    process.run_first("few_places")
    del process.environment["PYTHONPATH"]
    with pytest.raises(DidNotRunFirst, match="few_places"):
        process.start()
