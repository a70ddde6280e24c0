"""No file of 4 MiB takes long to read, or much memory, whatever is in it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import forms
import hostile
from forms import IS_FULL
from hypothesis import given, settings
from hypothesis import strategies as st

from feedkeep.formats.decoding import _CODECS, codec_of
from feedkeep.formats.feed_list import read_feed_list
from feedkeep.model.errors import InvalidInput


def test_a_file_of_any_shape_is_read_or_refused_in_time():
    program = [sys.executable, Path(hostile.__file__)]
    # To note each line that runs would take most of the time.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    environment["PYTHONPATH"] = str(Path(forms.__file__).parent)
    done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout.split("\n")[:-1]) == (0, list(hostile.SHAPES))


UNITS = st.sampled_from(
    [b"<", b">", b"/", b"&", b";", b"#", b"x", b"=", b"'", b'"', b" ", b"\n", b"!", b"--", b"[",
     b"]", b"?", b"<o>", b"</o>", b"<outline ", b"xmlUrl=", b"/>", b"&amp;", b"&#1;", b"<!--",
     b"CDATA["]
)  # fmt: skip


@settings(max_examples=2_000 if IS_FULL else 8)
@given(st.lists(UNITS, min_size=1, max_size=6), st.lists(UNITS, max_size=4))
def test_a_file_that_repeats_anything_is_read_or_refused_in_time(before, repeated):
    unit = b"".join(repeated or before)
    data = (b"<opml>" + b"".join(before) + unit * (2**19 // len(unit)))[: 2**19]
    begun = time.thread_time()
    try:
        read_feed_list(data)
    except InvalidInput as refusal:
        assert len(str(refusal)) < 200
    assert time.thread_time() - begun < hostile.CPU_SECONDS


def test_every_encoding_that_is_read_is_one_of_pythons():
    for codec in set(_CODECS.values()):
        assert b"<opml/>".decode(codec) == "<opml/>"
    assert codec_of("Windows-1251") == "cp1251"
