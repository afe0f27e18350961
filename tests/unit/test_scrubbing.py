import json
import re
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus, urlencode

import pytest

from proctor.scrubbing import REDACTED, SECRETS, Scrubber

KEY = "sk-test+0001/ab?=\"q'\\ z"
"""Every character that some encoding spells in another way."""


@pytest.fixture
def scrubber():
    scrubber = Scrubber()
    scrubber.add(KEY)
    return scrubber


def as_ascii_codes(text, form):
    return "".join(form.format(ord(character)) for character in text)


SPELLINGS = {
    "raw": KEY,
    "quoted": quote(KEY),
    "quoted with slashes": quote(KEY, safe=""),
    "quoted in lower case": quote(KEY, safe="").replace("%2B", "%2b").replace("%2F", "%2f"),
    "quoted plus": quote_plus(KEY),
    "a query": urlencode({"key": KEY}).removeprefix("key="),
    "quoted twice": quote(quote(KEY)),
    "every character quoted": as_ascii_codes(KEY, "%{:02x}"),
    "JSON": json.dumps(KEY)[1:-1],
    "JSON with slashes": json.dumps(KEY)[1:-1].replace("/", "\\/"),
    "JSON in JSON": json.dumps(json.dumps(KEY)[1:-1])[1:-1],
    "JSON in JSON in JSON": json.dumps(json.dumps(json.dumps(KEY)[1:-1])[1:-1])[1:-1],
    "JSON for HTML": json.dumps(KEY)[1:-1].replace("+", "\\u002B").replace("'", "\\u0027"),
    "every character as \\u": as_ascii_codes(KEY, "\\u{:04x}"),
    "every character as \\u in capitals": as_ascii_codes(KEY, "\\u{:04X}"),
    "repr": repr(KEY)[1:-1],
    "repr of bytes": repr(KEY.encode())[2:-1],
    "every character as \\x": as_ascii_codes(KEY, "\\x{:02x}"),
    "hexadecimal": KEY.encode().hex(),
    "hexadecimal in capitals": KEY.encode().hex().upper(),
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_a_secret_is_taken_out_however_it_is_spelled(scrubber, spelling):
    assert scrubber.holds(f"key={spelling}&more")
    assert scrubber.scrub(f"key={spelling}&more") == f"key={REDACTED}&more"


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("user", ["", "u", "us", "user", "a long name"])
def test_a_secret_is_taken_out_of_basic_auth_behind_any_user_name(scrubber, user, encode):
    header = "Basic " + encode(f"{user}:{KEY}".encode()).decode()
    scrubbed = scrubber.scrub(header)
    # What is left hangs on the neighbours: the user name before it, up to a byte of the key.
    assert re.fullmatch(r"Basic [\w+/-]*\[redacted\][\w+/=-]{0,4}", scrubbed)


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
def test_base64_within_a_url_is_found(encode):
    scrubber = Scrubber()
    scrubber.add("~~~???>>>~~~???")
    encoded = encode(b"~~~???>>>~~~???").decode()
    assert set("+/-_") & set(encoded)
    assert scrubber.scrub(quote(encoded, safe="")) == REDACTED


@pytest.mark.parametrize(
    "spelling",
    [
        "pä§€-𝄞-word",
        quote("pä§€-𝄞-word"),
        json.dumps("pä§€-𝄞-word")[1:-1],
        ascii("pä§€-𝄞-word")[1:-1],
        repr("pä§€-𝄞-word".encode())[2:-1],
        "pä§€-𝄞-word".encode().hex(),
        b64encode("pä§€-𝄞-word".encode()).decode(),
    ],
)
def test_a_value_that_is_not_ascii_is_found_too(spelling):
    scrubber = Scrubber()
    scrubber.add("pä§€-𝄞-word")
    assert scrubber.scrub(f"<{spelling}>") == f"<{REDACTED}>"


def test_a_value_of_several_lines_is_found_in_one():
    scrubber = Scrubber()
    scrubber.add("-----BEGIN\nMIIB\t\r\n-----END\n")
    assert scrubber.scrub(r"x -----BEGIN\nMIIB\t\r\n-----END y") == f"x {REDACTED} y"


@pytest.mark.parametrize(
    "text",
    [
        "sk-test+0001/ab",
        "SK-TEST+0001/AB?=\"Q'\\ Z",
        b64encode(KEY.encode()[1:]).decode(),
        quote(KEY)[:-1],
        "",
    ],
)
def test_what_is_not_the_secret_stays(scrubber, text):
    assert not scrubber.holds(text)
    assert scrubber.scrub(text) == text


def test_with_nothing_to_take_out_everything_is_handed_back():
    scrubber = Scrubber()
    text, data = "sk-test+0001", b"sk-test+0001"
    assert scrubber.scrub(text) is text
    assert scrubber.scrub_bytes(data) is data
    assert not scrubber.holds(text)
    assert list(scrubber.chunks(["a", "b"])) == ["a", "b"]


@pytest.mark.parametrize("value", ["", "1", "1234567", "  1234567  ", " \n "])
def test_a_value_that_is_found_within_other_words_is_let_through(value):
    scrubber = Scrubber()
    scrubber.add(value)
    assert not scrubber.holds(f"a {value} b")


def test_a_value_of_eight_characters_is_taken_out():
    scrubber = Scrubber()
    scrubber.add("12345678")
    assert scrubber.scrub("a12345678b") == f"a{REDACTED}b"


def test_the_white_space_around_a_value_is_no_part_of_it(scrubber):
    scrubber.add("  padded-value\n")
    assert scrubber.scrub("a padded-value b") == f"a {REDACTED} b"


@pytest.mark.parametrize("secrets", [("abcdefgh", "abcdefghijkl"), ("abcdefghijkl", "abcdefgh")])
def test_the_longest_secret_is_taken_out_whole(secrets):
    scrubber = Scrubber()
    for secret in secrets:
        scrubber.add(secret)
    assert scrubber.scrub("<abcdefghijkl>") == f"<{REDACTED}>"


def test_secrets_that_overlap_or_touch_leave_nothing_between():
    scrubber = Scrubber()
    scrubber.add("abcdefgh")
    scrubber.add("efghijkl")
    assert scrubber.scrub("<abcdefghijkl>") == f"<{REDACTED}>"
    assert scrubber.scrub("<abcdefghefghijkl>") == f"<{REDACTED}>"


def test_a_secret_that_is_added_twice_is_looked_for_once(scrubber):
    before = scrubber.scrub(KEY)
    scrubber.add(KEY)
    assert scrubber.scrub(KEY) == before == REDACTED


def test_bytes_are_scrubbed_and_otherwise_kept(scrubber):
    data = b"\xff\x00" + KEY.encode() + b"\xc3\x28"
    assert scrubber.scrub_bytes(data) == b"\xff\x00[redacted]\xc3\x28"


def test_a_value_that_is_no_text_is_found_in_bytes():
    scrubber = Scrubber()
    scrubber.add(b"secret-\xff-bytes".decode("utf-8", "surrogateescape"))
    assert scrubber.scrub_bytes(b"<secret-\xff-bytes>") == b"<[redacted]>"


def test_texts_and_keys_of_json_are_scrubbed(scrubber):
    value = {
        "a": [KEY, 1, None, True, 1.5],
        KEY: {"b": f"x {KEY} y", "lone \ud800": "\ud800"},
    }
    assert scrubber.scrub_json(value) == {
        "a": [REDACTED, 1, None, True, 1.5],
        REDACTED: {"b": f"x {REDACTED} y", "lone \ud800": "\ud800"},
    }


def test_a_secret_that_is_cut_apart_anywhere_is_found(scrubber):
    whole = f"before {KEY} after"
    for cut in range(len(whole)):
        parts = [whole[:cut], whole[cut:]]
        assert "".join(scrubber.chunks(parts)) == f"before {REDACTED} after"


def test_chunks_hand_on_what_can_be_no_secret(scrubber):
    stream = scrubber.chunks(["x" * 10_000, KEY[:5], KEY[5:], "y"])
    first = next(stream)
    assert set(first) == {"x"}
    assert len(first) > 9_000
    assert "".join(stream) == "x" * (10_000 - len(first)) + REDACTED + "y"


def test_hostile_text_takes_no_longer_than_other_text(scrubber):
    # Quadratic work on any of these would take hours.
    for piece in ("\\", "%25", "\\\\u", "s", "sk-", "%", KEY[:-1]):
        assert not scrubber.holds(piece * (500_000 // len(piece)))


class Held:
    """Raises errors with a local variable, so that a traceback could show it."""

    def __init__(self, secret):
        self.secret = secret

    def fail(self):
        hidden = self.secret
        raise ValueError(f"said {len(hidden)} characters")


def caught(function):
    with pytest.raises(BaseException) as info:  # noqa: PT011 - whatever it raises is looked at
        function()
    return info.value


def with_cause():
    try:
        raise KeyError(KEY)
    except KeyError as error:
        raise RuntimeError("the outer one") from error


def with_context():
    try:
        raise KeyError(KEY)
    finally:
        raise RuntimeError("the outer one")


def with_note():
    error = RuntimeError("the outer one")
    error.add_note(f"sent {KEY}")
    raise error


def with_group():
    raise ExceptionGroup("the outer one", [ValueError(KEY), OSError(2, KEY)])


@pytest.mark.parametrize("function", [with_cause, with_context, with_note, with_group])
def test_the_traceback_shows_causes_notes_and_groups_without_the_secret(scrubber, function):
    text = scrubber.format_exception(caught(function))
    assert "the outer one" in text
    assert function.__name__ in text
    assert REDACTED in text
    assert not scrubber.holds(text)


def test_the_traceback_shows_no_locals(scrubber):
    text = scrubber.format_exception(caught(Held(KEY).fail))
    assert "ValueError: said 23 characters" in text
    assert REDACTED not in text
    assert KEY not in text


def test_the_scrubber_of_the_process_knows_nothing_by_itself():
    assert not SECRETS.holds("sk-test-000111222333")
