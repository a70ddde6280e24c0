"""Contract, section 3: the canonical form of a guid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model.errors import InvalidInput
from feedkeep.rules.guids import parse_guid


# C3.5
@given(st.uuids())
def test_any_version_in_any_case_is_given_back_in_lower_case(value):
    assert parse_guid(str(value).upper()) == str(value)
    assert parse_guid(str(value)) == str(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "9b024349ccf05f69a6096b82873eab3c",
        "{9b024349-ccf0-5f69-a609-6b82873eab3c}",
        "urn:uuid:9b024349-ccf0-5f69-a609-6b82873eab3c",
        "9b024349-ccf0-5f69-a609-6b82873eab3",
        "9b024349-ccf0-5f69-a609-6b82873eab3c\n",
        " 9b024349-ccf0-5f69-a609-6b82873eab3c",
        "9b024349-ccf0-5f69-a609-6b82873eab3g",
        "9b024349-ccf0-5f69-a609-6b82873eab3\uff11",
        "9b02-4349-ccf05f69-a609-6b82873eab3c",
    ],
)
def test_any_other_text_is_not_a_guid(text):
    with pytest.raises(InvalidInput, match="Not a guid"):
        parse_guid(text)
