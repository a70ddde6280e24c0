import pytest

from feedkeep.model import KnownDocument
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import devices
from feedkeep.rules.devices import MAX_DOCUMENTS, Device, check_limits, described, is_within_limits

PHONE = Device("phone", "My phone", "mobile")


@pytest.mark.parametrize(
    ("known", "sent", "caption", "kind"),
    [
        (None, ("", ""), "phone", "other"),  # it is called by its id
        (PHONE, ("", ""), "My phone", "mobile"),  # an empty text changes nothing
        (PHONE, ("Old phone", ""), "Old phone", "mobile"),
        (PHONE, ("", "watch"), "My phone", "other"),  # apps do not know it
        (PHONE, ("", " Laptop "), "My phone", "laptop"),
        (None, ("a\nb\x1b" + "c" * 500, ""), "ab" + "c" * 198, "other"),
    ],
)
def test_device_has_a_caption_of_one_line_and_a_type_that_apps_know(known, sent, caption, kind):
    assert described("phone", known, *sent) == Device("phone", caption, kind)


@pytest.mark.parametrize("device_id", ["", "a b", "a/b", "x" * 65, "a\n"])
def test_id_that_is_not_valid_is_refused(device_id):
    with pytest.raises(InvalidInput):
        described(device_id, None, "", "")


def test_settings_are_set_and_removed_and_others_stay():
    after = devices.with_settings({"a": 1, "b": 2, "c": 3}, {"a": None, "d": []}, ["b", "x"])
    assert after == {"a": None, "c": 3, "d": []}


def test_there_is_room_for_so_many_and_no_more():
    check_limits(KnownDocument(None, MAX_DOCUMENTS - 1), "{}")
    with pytest.raises(InvalidInput):
        check_limits(KnownDocument(None, MAX_DOCUMENTS), "{}")


def test_document_counts_once_for_each_kib_and_can_always_become_shorter():
    long, longer = "x" * 2_600, "x" * 3_600  # 4 and 5 KiB
    assert is_within_limits(KnownDocument(None, MAX_DOCUMENTS - 4), long)
    assert not is_within_limits(KnownDocument(None, MAX_DOCUMENTS - 3), long)
    assert is_within_limits(KnownDocument("{}", MAX_DOCUMENTS - 4), long)
    assert not is_within_limits(KnownDocument(long, MAX_DOCUMENTS - 4), longer)
    for body in (long, "{}"):
        assert is_within_limits(KnownDocument(long, 2 * MAX_DOCUMENTS), body)
