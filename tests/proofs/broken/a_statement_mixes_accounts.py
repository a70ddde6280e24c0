"""The statement for apps that `MIXED` names takes what any account has."""

import importlib
import os
import re

_topic, _name = os.environ["MIXED"].split(".")
_module = importlib.import_module(f"feedkeep.store.sqlite.{_topic}")
_right = getattr(_module, _name)
_mixed = re.sub(r"\b(\w+\.)?account_id = \?", "? > 0", _right)
assert _mixed != _right
setattr(_module, _name, _mixed)
