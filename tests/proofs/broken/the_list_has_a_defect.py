"""Listing subscriptions fails with the error that `DEFECT` names."""

import builtins
import os
from typing import NoReturn

from feedkeep.model import errors
from feedkeep.service.subscriptions import Subscriptions

_name = os.environ["DEFECT"]
_error = getattr(errors, _name, None) or getattr(builtins, _name)


async def page(*_: object) -> NoReturn:
    raise _error("the details")


Subscriptions.page = page
