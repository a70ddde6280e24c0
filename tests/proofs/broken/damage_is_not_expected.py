"""Damaged pictures are not expected."""

from feedkeep.feeds import pictures
from feedkeep.model import Picture
from feedkeep.model.errors import NotAPicture

shrink = pictures.shrink


def _shrink(picture: bytes) -> Picture:
    try:
        return shrink(picture)
    except NotAPicture as refusal:
        raise refusal.__cause__ or refusal from None


pictures.shrink = _shrink
