"""The weights of rows."""

import pytest

from feedkeep.model import Alias, Guid, Pointer, Stamp, Subscription
from feedkeep.model.weights import weight, weight_of_entry

G1, G2 = (Guid(f"00000000-0000-4000-8000-00000000000{i}") for i in (1, 2))


@pytest.mark.parametrize(
    ("size", "expected"), [(0, 1), (512, 1), (513, 2), (1_536, 2), (1_537, 3), (8_192, 9)]
)
def test_a_row_weighs_one_for_each_kib_that_its_texts_and_half_a_kib_begin(size, expected):
    assert weight("x" * size) == weight("x" * (size // 2), "x" * (size - size // 2)) == expected
    assert weight(None, "ä" * (size // 2)) == weight("x" * (size // 2 * 2))


def test_an_entry_weighs_all_its_urls():
    url = "u" * 500
    alias = Alias(url, moved_away=True)
    feed = Subscription(G1, url, True, Stamp(1))
    moved = Subscription(G1, url, True, Stamp(1), app_url=url)
    known = Subscription(G1, url, True, Stamp(1), app_url=url, alias=alias)
    assert [weight_of_entry(it) for it in (feed, moved, known)] == [1, 2, 2]
    assert weight_of_entry(Pointer(G1, G2)) == weight_of_entry(Pointer(G1, G2, None, alias)) == 1
    assert weight_of_entry(Pointer(G1, G2, None, Alias(3 * url, moved_away=True))) == 2
