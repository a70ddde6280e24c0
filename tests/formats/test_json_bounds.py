"""Limits of JSON's depth and size are checked without decoding it, whatever its strings contain."""

import json
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.formats import json_bounds
from feedkeep.formats.json_bounds import MAX_JSON_DEPTH, MAX_JSON_PARTS, check_json
from feedkeep.model.errors import InvalidInput

TEXTS = st.text('[]{}",:\\é a', max_size=8)
VALUES = st.recursive(
    st.none() | TEXTS | st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=40,
)


def depth_of(value):
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


# C1.11
@given(VALUES, st.integers(0, 70), st.booleans(), st.sampled_from([16, 65_536]))
def test_json_nested_too_deep_is_refused_and_no_other(value, more, is_ascii, at_once):
    for number in range(more):
        value = {'"]\\': value} if number % 2 else [value, "[[[[\\"]
    data = json.dumps(value, ensure_ascii=is_ascii).encode()
    is_refused = depth_of(value) > MAX_JSON_DEPTH
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_bounds, "_AT_ONCE_BYTES", at_once)
        with pytest.raises(InvalidInput) if is_refused else nullcontext():
            check_json(data)


# C1.11
@pytest.mark.parametrize("unit", [b"[],", b"{},", b"0,", b'"",', b'{"":0},'])
def test_json_with_too_many_parts_is_refused(unit):
    parts = sum(unit.count(sign) for sign in (b"[", b"]", b"{", b"}", b",", b":"))
    limit = (MAX_JSON_PARTS - 2) // parts
    check_json(b"[" + unit * limit + b"]")
    with pytest.raises(InvalidInput, match=r"more than 400,000 parts"):
        check_json(b"[" + unit * (limit + 1) + b"]")


def test_what_is_in_strings_does_not_count():
    check_json(b'["' + rb"[{\\\",:" * 200_000 + b'"]')
