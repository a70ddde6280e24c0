import pytest

from feedkeep.model import KnownDocument
from feedkeep.model.errors import InvalidInput
from feedkeep.rules.devices import (
    MAX_DOCUMENTS,
    Device,
    check_limits,
    described,
    is_within_limits,
    with_settings,
)

PHONE = Device("phone", "My phone", "mobile")


def test_a_device_without_a_caption_is_called_by_its_id():
    assert described("phone", None, "", "") == Device("phone", "phone", "other")


def test_an_empty_text_changes_nothing():
    assert described("phone", PHONE, "", "") == PHONE
    assert described("phone", PHONE, "Old phone", "") == Device("phone", "Old phone", "mobile")


def test_a_type_that_apps_do_not_know_becomes_other():
    assert described("phone", PHONE, "", "watch").type == "other"
    assert described("phone", PHONE, "", " Laptop ").type == "laptop"


def test_a_caption_is_one_line_of_bounded_length():
    assert described("phone", None, "a\nb\x1b" + "c" * 500, "").caption == "ab" + "c" * 198


@pytest.mark.parametrize("device_id", ["", "a b", "a/b", "x" * 65, "a\n"])
def test_an_id_that_is_not_valid_is_refused(device_id):
    with pytest.raises(InvalidInput):
        described(device_id, None, "", "")


def test_settings_are_set_and_removed_and_others_stay():
    assert with_settings({"a": 1, "b": 2, "c": 3}, {"a": None, "d": []}, ["b", "x"]) == {
        "a": None,
        "c": 3,
        "d": [],
    }


def test_there_is_room_for_so_many_and_no_more():
    check_limits(KnownDocument(None, MAX_DOCUMENTS - 1), "{}")
    with pytest.raises(InvalidInput):
        check_limits(KnownDocument(None, MAX_DOCUMENTS), "{}")


def test_a_document_counts_once_for_each_kib_and_can_always_become_shorter():
    long, longer = "x" * 2_600, "x" * 3_600  # 4 and 5 KiB
    assert is_within_limits(KnownDocument(None, MAX_DOCUMENTS - 4), long)
    assert not is_within_limits(KnownDocument(None, MAX_DOCUMENTS - 3), long)
    assert is_within_limits(KnownDocument("{}", MAX_DOCUMENTS - 4), long)
    assert not is_within_limits(KnownDocument(long, MAX_DOCUMENTS - 4), longer)
    for body in (long, "{}"):
        assert is_within_limits(KnownDocument(long, 2 * MAX_DOCUMENTS), body)
