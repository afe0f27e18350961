import json
import string
from base64 import b64encode, urlsafe_b64encode
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proctor.scrubbing import REDACTED, Scrubber

keys = st.text(string.ascii_letters + string.digits + "-_+/=.:~%\\\"' ", min_size=8, max_size=60)
words = st.text(min_size=8, max_size=20)


def is_distinct(value):
    """Whether no part of it could be made by `[redacted]` standing in its place."""
    return len(value) >= 8 and not any(REDACTED[at : at + 2] in value for at in range(9))


values = (keys | words).map(str.strip).filter(is_distinct)
texts = st.text(max_size=30)
long_texts = st.builds(lambda text, times: text * times, texts, st.integers(1, 80))


ENCODINGS = {
    "raw": str,
    "quote": quote,
    "quote all": lambda value: quote(value, safe=""),
    "quote plus": quote_plus,
    "quote in lower case": lambda value: "".join(f"%{byte:02x}" for byte in value.encode()),
    "quote twice": lambda value: quote(quote(value)),
    "json": lambda value: json.dumps(value)[1:-1],
    "json with utf-8": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "json with slashes": lambda value: json.dumps(value)[1:-1].replace("/", "\\/"),
    "json twice": lambda value: json.dumps(json.dumps(value)[1:-1])[1:-1],
    "repr": lambda value: repr(value)[1:-1],
    "ascii": lambda value: ascii(value)[1:-1],
    "repr of bytes": lambda value: repr(value.encode())[2:-1],
    "hex": lambda value: value.encode().hex(),
    "base64": lambda value: b64encode(value.encode()).decode(),
    "base64 for urls": lambda value: urlsafe_b64encode(value.encode()).decode(),
}


def scrubber_of(*secrets):
    scrubber = Scrubber()
    for hidden in secrets:
        scrubber.add(hidden)
    return scrubber


def in_parts(text, cuts):
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(places)]


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
@given(hidden=values, before=texts, after=texts, cuts=st.lists(st.integers(0, 10_000), max_size=8))
@example(hidden="\\\\server\\share", before="\\", after="\\", cuts=[1, 2, 3])
@example(hidden="%25%2525%25", before="%", after="25", cuts=[1, 2, 3])
def test_a_secret_never_survives(encode, hidden, before, after, cuts):
    scrubber = scrubber_of(hidden)
    text = before + encode(hidden) + after
    assert scrubber.holds(text)
    scrubbed = scrubber.scrub(text)
    assert REDACTED in scrubbed
    assert encode(hidden) not in scrubbed
    assert not scrubber.holds(scrubbed)
    assert "".join(scrubber.chunks(in_parts(text, cuts))) == scrubbed


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@given(hidden=values, before=st.binary(max_size=20), after=st.binary(max_size=20))
def test_a_secret_never_survives_within_base64(encode, hidden, before, after):
    scrubber = scrubber_of(hidden)
    scrubbed = scrubber.scrub(encode(before + hidden.encode() + after).decode())
    assert REDACTED in scrubbed
    assert not scrubber.holds(scrubbed)
    left, _, right = scrubbed.partition(REDACTED)
    # All that is left are the neighbours, and a part of one byte of the secret on each side.
    assert len(left) * 6 < len(before) * 8 + 8
    assert len(right.rstrip("=")) * 6 < len(after) * 8 + 14


@given(st.lists(values, min_size=1, max_size=4), st.lists(long_texts, max_size=6), st.data())
def test_parts_and_the_whole_are_scrubbed_alike(secrets, pieces, data):
    scrubber = scrubber_of(*secrets)
    spelled = st.sampled_from([encode(hidden) for hidden in secrets for encode in (str, quote)])
    for place in range(len(pieces)):
        pieces[place] += data.draw(spelled)[: data.draw(st.integers(0, 80))]
    text = "".join(pieces)
    cuts = data.draw(st.lists(st.integers(0, 10_000), max_size=10))
    assert "".join(scrubber.chunks(in_parts(text, cuts))) == scrubber.scrub(text)


@given(values, st.binary(max_size=30), st.binary(max_size=30))
def test_bytes_around_a_secret_are_kept(hidden, before, after):
    scrubber = scrubber_of(hidden)
    scrubbed = scrubber.scrub_bytes(before + hidden.encode() + after)
    assert hidden.encode() not in scrubbed
    assert scrubbed.count(REDACTED.encode()) >= 1


@given(values, st.text(max_size=200))
def test_a_text_without_the_secret_stays_as_it_is(hidden, text):
    scrubber = scrubber_of(hidden)
    assert scrubber.holds(text) or scrubber.scrub(text) is text
