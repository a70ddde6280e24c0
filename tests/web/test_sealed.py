"""Values sealed in a browser open only there, for their purpose, and until they expire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.web.authenticator import seal, unseal

MINUTE_SECONDS = 60


@given(st.text(max_size=40), st.binary(max_size=200))
def test_what_was_sealed_opens_with_its_session_and_purpose_alone(session, content):
    text = seal(session, "one purpose", content)
    assert unseal(session, "one purpose", text, MINUTE_SECONDS) == content
    assert unseal(f"{session}x", "one purpose", text, MINUTE_SECONDS) is None
    assert unseal(session, "another", text, MINUTE_SECONDS) is None
    assert unseal(session, "one purpose", text, -1) is None


@pytest.mark.parametrize("text", ["", "x", "ü", "\udc80", "gAAAAA", "gAAAAAB" + "x" * 93, "=" * 99])
def test_any_other_text_opens_to_nothing(text):
    assert unseal("session", "one purpose", text, MINUTE_SECONDS) is None


@given(st.text(max_size=200))
def test_whatever_a_text_is_it_is_no_error(text):
    assert unseal("session", "one purpose", text, None) is None
