"""Every decision of the contract as pure functions: no I/O, no clock, no JSON."""
