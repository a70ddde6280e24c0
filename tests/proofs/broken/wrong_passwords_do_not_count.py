"""Wrong passwords do not count."""

from feedkeep.security import throttle

throttle.PER_ACCOUNT_AND_ADDRESS = throttle.PER_ADDRESS = throttle.PER_ACCOUNT = 10**9
