"""Listing accounts has a defect."""

from typing import NoReturn

from feedkeep.service.accounts import Accounts


async def fail(_self: Accounts, *_: object) -> NoReturn:
    raise ZeroDivisionError("x")


Accounts.people = fail
