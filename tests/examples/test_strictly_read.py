"""The example programs keep the contract, whatever goes wrong: a strict reader has no objection."""

from podsync_check.watching.exchanges import Fault
from test_sync import Device, each_program
from trying import trial

__all__ = ["trial"]


@each_program
def test_example_is_not_objected_to_whatever_goes_wrong(tmp_path, program, trial):
    one, two = (Device(program, tmp_path / name, trial.base_url, trial.token) for name in "12")
    faults = (Fault.UNAVAILABLE, Fault.TOO_MANY, Fault.LOST, Fault.TORN)
    for number, fault in enumerate(faults):
        one.must("add", f"https://feeds.example/{number}")
        trial.do("faults", fault=fault)
        one.must()
        two.must()
        two.must("unsubscribe", min(two.feeds()))
    one.must("add", "feeds.example/no-protocol")
    assert one.run().returncode in {0, 1}
    trial.do("keep")
    one.must("delete", sorted(one.feeds())[1])
    for device in (one, two):
        device.must()
    trial.do("restore")
    for device in (one, two, one):
        device.must()
    trial.do("faults", fault=Fault.EXPIRED)
    assert two.run().returncode == 1
    told = trial.requests()
    assert [one for one in told["requests"] if one["objections"]] == []
    assert {one["fault"] for one in told["requests"]} == {None, *faults, Fault.EXPIRED}
    assert one.feeds().keys() == two.feeds().keys()
