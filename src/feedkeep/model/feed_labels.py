"""What the owner of a list calls a feed, and the folder that it is in.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from feedkeep.model.entries import View
from feedkeep.model.values import Guid, Value


class FeedLabel(Value, frozen=True):
    """The title and the folder of a feed in one list, by import or by its owner's own hand.

    Attributes:
        guid: The guid that the subscription had when it got the label, and that still leads to it.
        title: One line; "" if there is none.
        folder: Names of folders, the outermost first, with " / " between them; "" if there is none.
        is_title_edited: Whether the owner typed the title, so that no import replaces it.
        is_folder_edited: The same of the folder.
    """

    guid: Guid
    title: str = ""
    folder: str = ""
    is_title_edited: bool = False
    is_folder_edited: bool = False


class Labelled(Value, frozen=True):
    """A label with the entry of its guid, and the subscription that this is or leads to."""

    label: FeedLabel
    view: View
