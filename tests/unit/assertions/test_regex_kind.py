import pytest
from asking import FakeScope, answered, assertion, case, check, refusal, verdict

from proctor.assertions.regex import nested_groups, written_out
from proctor.records import Outcome

GUARANTEE = r"\b(we|i) guarantee\b|\bguaranteed refund\b"
SLOW = "^(a|aa)+$"


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "result"),
    [
        ("fund", "", "a refund", "passed"),
        ("^fund", "", "a refund", "no_match"),
        ("REFUND", "", "a refund", "no_match"),
        ("REFUND", "i", "a refund", "passed"),
        ("^b$", "", "a\nb", "no_match"),
        ("^b$", "m", "a\nb", "passed"),
        ("a.b", "", "a\nb", "no_match"),
        ("a.b", "s", "a\nb", "passed"),
        ("a b # a comment", "x", "ab", "passed"),
        ("^A.B$", "ims", "x\na\nb\ny", "passed"),
        ("^x*$", "", "abc", "no_match"),
        (r"\p{Lu}", "", "Ä", "passed"),
        ("a\ud800", "", "a\ud800b", "passed"),
        ("a", "", "", "no_match"),
        ("^$", "", "", "passed"),
        ("a", "", None, "no_text"),
    ],
)
def test_a_pattern_is_found_anywhere(pattern, flags, text, result):
    assert verdict("regex", text, pattern=pattern, flags=flags) == result


@pytest.mark.parametrize(
    ("member", "result"),
    [
        ('"We guarantee it"', "match: reply"),
        ('"We are sorry"', "passed"),
        ("12", "passed"),
        ("{}", "not_text: reply"),
        ("[]", "not_text: reply"),
    ],
)
def test_negated_an_answer_passes_when_it_is_there_and_does_not_match(member, result):
    fields = {"field": "reply", "pattern": GUARANTEE, "flags": "i", "negate": True}
    assert verdict("regex", f'{{"reply": {member}}}', **fields) == result
    assert verdict("regex", "{}", **fields) == "missing_field: reply"
    assert verdict("regex", "We are sorry", **fields) == "not_json"
    assert verdict("regex", None, **fields) == "no_text"


@pytest.mark.parametrize(
    ("member", "pattern", "result"),
    [("60.0", "^60$", "passed"), ("true", "^true$", "passed"), ("null", "^null$", "passed")],
)
def test_numbers_booleans_and_null_are_spelled_as_json(member, pattern, result):
    assert verdict("regex", f'{{"f": {member}}}', field="f", pattern=pattern) == result


def test_a_pattern_that_is_slow_elsewhere_may_be_quick_here():
    assert verdict("regex", "x" * 45 + "!", pattern=r"^(\w+\s?)*$") == "no_match"


def test_evidence_quotes_the_match_or_the_text():
    assert check("regex", "no", pattern="yes").evidence == {"pattern": "yes", "got": "no"}
    found = check("regex", "oh yes", pattern="ye.", negate=True)
    assert found.evidence == {"pattern": "ye.", "got": "yes"}


@pytest.mark.parametrize("negate", [False, True])
def test_running_out_of_time_fails_also_when_negated(negate):
    scope = FakeScope(regex_timeout_s=0.02)
    slow = assertion("regex", scope=scope, pattern=SLOW, negate=negate)
    result = slow.check(answered("a" * 100 + "!"), case())
    assert (result.outcome, result.reason) == (Outcome.FAILED, "timed_out")
    assert result.evidence == {"limit_s": 0.02}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pattern": ""}, "P6202 the pattern is empty, which is found in every text"),
        (
            {"pattern": " \n", "flags": "x"},
            "P6202 the pattern is empty, which is found in every text",
        ),
        ({"pattern": "("}, "P6201 `pattern` is not a regular expression: missing ) at position 1"),
        ({"pattern": "a", "flags": "g"}, "P6201 `flags`: `g` is not one of i, m, s, x"),
        ({"pattern": "a", "flags": "im i"}, "P6201 `flags`: ` ` is not one of i, m, s, x"),
        ({"pattern": "a", "flags": "ii"}, "P6201 `flags`: `i` stands twice"),
        ({"pattern": "a" * 4097}, "P6201 `pattern` has 4,097 characters; the limit is 4,096"),
        (
            {"pattern": "(" * 101 + "a" + ")" * 101},
            "P6201 `pattern` has groups nested deeper than 100",
        ),
        (
            {"pattern": r"\L<names>"},
            "P6201 `pattern` is not a regular expression: undefined named list at position 9",
        ),
        (
            {"pattern": "(?V1)" + "[" * 2000 + "a" + "]" * 2000},
            "P6201 `pattern` has the inline flag `V1`, which is not supported",
        ),
        (
            {"pattern": "(?if)ß"},
            "P6201 `pattern` has the inline flag `f`, which is not supported",
        ),
    ],
)
def test_a_pattern_that_cannot_work_is_refused(fields, message):
    assert refusal("regex", **fields) == message


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        (".*", ""),
        ("x*", ""),
        ("a|", ""),
        ("(?:)", ""),
        ("(a)?+(?:b?){3}", ""),
        ("(?x) # nothing", ""),
        ("a ?", "x"),
        ("(?r)a*", ""),
    ],
)
def test_a_pattern_that_is_found_in_every_text_is_refused(pattern, flags, negate):
    message = "P6202 the pattern matches an empty text, so it is found in every text"
    assert refusal("regex", pattern=pattern, flags=flags, negate=negate) == message


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^$", "a"),
        ("^x*$", "a"),
        (r"\Ax?\Z", "a"),
        (r"\B", "a"),
        ("(?!a)b?$", "a\na"),
        (r"\Gx*\Z", "a"),
        ("(?<!a)$", "a"),
        ("(?x)(?< !a)(?! .)", "a"),
    ],
)
def test_an_empty_match_that_asks_about_its_place_can_fail(pattern, text):
    assert assertion("regex", pattern=pattern)


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        (r"\((?:[^()]|(?R))*\)", ""),
        ("a(?0)?b", ""),
        ("(a(?1)?b)", ""),
        ("(a(?-1)?b)", ""),
        ("(?P<n>a(?&n)?b)", ""),
        ("(?P<n>a(?P>n)?b)", ""),
        ("(?P<n>a(?P >n)?b)", "x"),
        ("(?P<n>a(?P # a comment\n>n)?b)", "x"),
        (r"\\(?R)?", ""),
        ("(?#\\)(a(?1)?b)", ""),
        ("(?(DEFINE)(?P<q>a))(?&q)", ""),
    ],
)
def test_a_pattern_that_calls_itself_is_refused(pattern, flags):
    message = "P6201 `pattern` calls a part of itself; recursion is not supported"
    assert refusal("regex", pattern=pattern, flags=flags) == message


def test_nesting_that_is_hidden_from_counting_is_refused_by_the_compiler():
    pattern = "(?x)#[\n" + "(" * 1_500 + "a" + ")" * 1_500 + "#]"
    assert nested_groups(pattern, verbose=False) == 1
    assert refusal("regex", pattern=pattern).startswith("P6201 `pattern` cannot be compiled: ")


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        ("(a{1000}){1000}", ""),
        ("(?:(?:(?:(?:ab){100}){100}){100}){100}", ""),
        ("a{4000000000}", ""),
        ("a{" + "9" * 4000 + "}", ""),
        ("(?:(?:ab){1000,}){1000,}", ""),
        ("(?:a{1000})#comment\n{1000}", "x"),
        ("(?:a{1000}) {1000}", "x"),
        ("(?x)(?:a{1000}) {1000}", ""),
        ("(?:a{1000})(?#comment){1000}", ""),
        ("[)](?:a{1000}){1000}[(]", ""),
    ],
)
def test_repeats_that_would_fill_the_memory_are_refused_before_compiling(pattern, flags):
    assert "repeats too much" in refusal("regex", pattern=pattern, flags=flags)


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [("a{1 0}", "x"), ("a{1#c\n0}", "x"), ("(?x)a{ 10}", ""), ("(?ix:a{10 })", "")],
)
def test_a_count_cannot_be_hidden_by_spaces(pattern, flags):
    assert "space or comment" in refusal("regex", pattern=pattern, flags=flags)


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        (r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$", ""),
        ("[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", "i"),
        (r"(?:\d{1,3}\.){3}\d{1,3}", ""),
        (r'\{ "a" : \d{1,5} \}', "x"),
        ("(?:x{0,1000}y{0,1000}){0,1000}z", ""),
        (r"\{1 0\}", "x"),
        ("(" * 100 + "a" + ")" * 100, ""),
        ("[(]" * 150 + r"\(" * 150, ""),
        ("a # " + "(" * 150, "x"),
        ("(?#" + "(" * 150 + ")a", ""),
        ("(?P<f>a)(?P=f)", ""),
        (r"(a)\g<1>", ""),
        (r"\(?R\)", ""),
    ],
)
def test_patterns_people_write_are_within_the_limits(pattern, flags):
    assert assertion("regex", pattern=pattern, flags=flags)


@pytest.mark.parametrize(
    ("pattern", "verbose", "depth"),
    [
        ("", False, 0),
        ("(a)(b)", False, 1),
        ("((a)(b(c)))", False, 3),
        (r"\((a\)", False, 1),
        ("[(](a)", False, 1),
        ("[]()](a)", False, 1),
        ("[^]()](a)", False, 1),
        ("[[:alpha:](](a)", False, 1),
        (r"[\](](a)", False, 1),
        ("(?#((()(a)", False, 1),
        ("#((\n(a)", True, 1),
        ("#((\n(a)", False, 3),
        ("[(", False, 1),
    ],
)
def test_nested_groups_are_counted_outside_of_classes_and_comments(pattern, verbose, depth):
    assert nested_groups(pattern, verbose=verbose) == depth


@pytest.mark.parametrize(
    ("pattern", "elements"),
    [
        ("ab", 2),
        ("a{5}", 4 + 5),
        (r"a\{5}", 5),
        ("(ab){5}", 7 * 5),
        ("(a{3}){5}", (9 + 3) * 5),
        ("a{0,9}b{,9}c{1,9}", 17),
    ],
)
def test_repeats_are_counted_as_written_out(pattern, elements):
    assert written_out(pattern) == elements


@pytest.mark.parametrize("pattern", ["(?:(?:ab){500}){9}", "a{50000}b{49000}", "b" + "a" * 900])
def test_the_most_that_is_accepted_compiles(pattern):
    assert verdict("regex", "a" * 10_000, pattern=pattern) == "no_match"
