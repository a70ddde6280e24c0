"""The statement for apps that `MIXED` names takes what any account has."""

import os
import re

from feedkeep.store.sqlite import apps

_name = os.environ["MIXED"]
_right = getattr(apps, _name)
_mixed = re.sub(r"\b(\w+\.)?account_id = \?", "? > 0", _right)
assert _mixed != _right
setattr(apps, _name, _mixed)
