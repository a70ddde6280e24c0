"""The statement for apps that `MIXED` names takes what any account has."""

import importlib
import os
import re

from feedkeep.store.sql import sql

_module_name, _name = os.environ["MIXED"].rsplit(".", 1)
_module = importlib.import_module(f"feedkeep.store.{_module_name}")
_right = getattr(_module, _name)
_mixed = re.sub(r"\b(\w+\.)?account_id = (\?|\$1)", r"\2 > 0", _right)
assert _mixed != _right
setattr(_module, _name, sql(_mixed))
