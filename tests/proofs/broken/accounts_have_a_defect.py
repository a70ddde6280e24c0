"""Listing accounts has a defect."""

from typing import NoReturn

from feedkeep.service import Service


async def accounts(_self: Service) -> NoReturn:
    raise ZeroDivisionError("x")


Service.accounts = accounts
