"""Text that makes a careless pattern take for ever: every rule reads it once, or nearly so.

What is quadratic takes minutes here and hours at a mebibyte, which ends at the watchdog.
"""

from __future__ import annotations

import base64
import signal

import pytest

from proctor.scanning.detectors import personal_data
from proctor.scanning.gates import open_gate
from proctor.scanning.rules import scan_rules

KIBIBYTE = 1024
PATIENCE_S = 120

FRAGMENTS = {
    "a word": "a",
    "words": "aZ9 ",
    "spaces": " ",
    "line ends": "\n",
    "S005 starts": "ignore all ",
    "S005 gaps": "ignore   previous   ",
    "S005 long gaps": "must" + " " * 500 + "disable" + " " * 500,
    "S005 negated": "anti-jailbreak ",
    "S005 negated late": "warning about the xyz and what it is made of, jailbreak ",
    "S005 modal": "you must disable ",
    "S005 within sentences": "x override safety ",
    "S005 please": "please override safety x",
    "S005 far from a sentence": "x override safety" + " " * 1_000,
    "S005 sentence ends": "!\n",
    "S010 schemes": "http://",
    "S010 queries": "https://?token",
    "S010 secrets": "token=&",
    "S010 hosts": "https://\u0430.\u0440\u0444/",
    "S010 names": "https://\u043e\u043e\u043e\u043e\u043e\u043e.\u0440\u0444/",
    "S010 punycode": "https://xn--a-b.c/",
    "S010 labels": "xn--aaaa-bbbb.",
    "S010 shorteners": "bit.ly/",
    "S011 starts": "mandatory policies ",
    "S011 gaps": "system" + " " * 10,
    "S011 strict": "strict____mode    :::",
    "S011 brackets": "[ override ",
    "S011 boundaries": "must always complyx ",
    "S011 no warnings": "do not show security ",
    "S011 items": "- skip all checks\n",
    "S011 one line": "skip all checks ",
    "S011 fences": "```\n",
    "S011 blocks": "```\nx\n```\nsystem ",
    "S011 open fences": "~~~~\n```\n",
    "S011 headings": "# don't\n",
    "S011 rules": "- ",
    "S012 base64": "QUJD",
    "S012 runs of base64": base64.b64encode(b"hello world, this is harmless!").decode() + " ",
    "S012 paths": "src/components/users/",
    "S012 slashes": "/",
    "S012 hex": "6a",
    "S012 runs of hex": "6a61696c6a61696c6a ",
    "S012 pairs": "6a 61 ",
    "S012 escapes": "\\x6a",
    "S012 runs of escapes": "\\x6a\\x6a\\x6a\\x6a,",
    "S012 wide escapes": "\\u006a",
    "S012 percents": "%6a%6a%6a%6a,",
    "S012 references": "&#106;&#x6a;&#106;&#106;,",
    "S012 octal": "\\152",
    "S012 binary": "01101010 ",
    "S012 runs of binary": "01101010 01101010 01101010 01101010,",
    "S012 data": "data:text/plain;base64,QUJDQUJDQUJDQUJDQUJD ",
    "S012 ROT13": "vtaber nyy ",
    "S014 controls": "\u202e\u200b",
    "S014 mixed words": "a\u0430 ",
    "S014 a mixed word": "a\u0430",
    "S014 marks": "\u0301",
    "S014 piles": "\u0301\u0301\u0301\u0301a",
    "email at": "@",
    "email starts": "a@",
    "email labels": "a.",
    "email hosts": "ab@bcd.c1 ",
    "emails": "jane@example.com ",
    "card digits": "4",
    "card pairs": "44 ",
    "card groups": "4444 ",
    "cards": "4111111111111111 ",
    "IBAN starts": "DE89",
    "IBAN groups": "NO12 1111 ",
    "IBANs": "DE89370400440532013000 ",
    "surrogates": "\ud800",
}
HEADS = {
    "S011 items": "# don't\n",
    "S011 one line": "# don't\n- ",
    "S010 labels": "https://",
    "S010 secrets": "https://a?",
    "email labels": "a@",
}


@pytest.fixture
def watchdog():
    """Ends a test that would not end by itself."""

    def bark(number, frame):
        raise TimeoutError(f"not done after {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, bark)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("watchdog")
@pytest.mark.parametrize(
    "size",
    [
        pytest.param(64 * KIBIBYTE, id="64 KiB"),
        pytest.param(1_024 * KIBIBYTE, id="1 MiB", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", FRAGMENTS)
def test_no_text_takes_for_ever(name, size):
    fragment = FRAGMENTS[name]
    text = (HEADS.get(name, "") + fragment * (size // len(fragment) + 1))[:size]
    for rule in scan_rules():
        if open_gate((rule.gate,))(text):
            assert all(isinstance(what, str) for what in rule.find(text))
    ends = [span.end for span in personal_data(text)]
    assert ends == sorted(ends)
