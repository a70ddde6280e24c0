"""Titles and folders that the owner of a list gives its feeds."""

from __future__ import annotations

from feedkeep.model.entries import View
from feedkeep.model.values import Guid, Value


class FeedLabel(Value, frozen=True):
    """The title and the folder of a feed in one list, imported or edited by its owner.

    Attributes:
        guid: The subscription's guid when it got the label; it still resolves to it.
        title: One line; "" if there is no title.
        folder: Names of folders, outermost first, joined by " / "; "" if there is no folder.
        is_title_edited: Whether the owner typed the title, so that no import replaces it.
        is_folder_edited: Whether the owner typed the folder, so that no import replaces it.
    """

    guid: Guid
    title: str = ""
    folder: str = ""
    is_title_edited: bool = False
    is_folder_edited: bool = False


class Labelled(Value, frozen=True):
    """A label with the entry of its guid, and the subscription that this is or resolves to."""

    label: FeedLabel
    view: View
