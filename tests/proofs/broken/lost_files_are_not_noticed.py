"""A write is acknowledged wherever it went."""

from feedkeep.store.sqlite.file_identity import FileIdentity


def assert_in_place(_self: FileIdentity) -> None:
    pass


FileIdentity.assert_in_place = assert_in_place
