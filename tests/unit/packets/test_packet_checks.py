import pytest

from proctor.packets.checks import expectations_sha256
from proctor.packets.kinds import listed_kinds

TEXT = {"type": "string", "nullable": True}
LIST = {"type": "list", "nullable": True}
OPENING = (
    "Twelve paper boats crossed Lake Tarn at 9am. _Eleven_ came back, didn't they? "
    "Caf\u00e9 e\u0301t \u017f"
)


@pytest.fixture
def reason(sealed):
    """Why a value does not pass one check; None when it does."""

    def reason(check, value, field=TEXT, **evidence):
        sealed.case["response"] = {"f": field}
        sealed.case["evidence"] = {"page": OPENING, **evidence}
        sealed.case["checks"] = [{"id": "c", "field": "f", **check}]
        (one, *more) = sealed.load().cases[0].checks
        assert more == []
        checked = one.check({"f": value})
        assert (checked.outcome == "passed") is (checked.reason is None)
        return checked.reason

    return reason


@pytest.mark.parametrize(
    ("check", "field", "value", "why"),
    [
        ({"kind": "equals", "value": "a"}, TEXT, "a", None),
        ({"kind": "equals", "value": "a"}, TEXT, "a ", "not_equal"),
        ({"kind": "equals", "value": "a"}, TEXT, None, "not_equal"),
        ({"kind": "equals", "value": None}, TEXT, None, None),
        ({"kind": "equals", "value": None}, TEXT, "", "not_equal"),
        ({"kind": "equals", "value": 1}, {"type": "number"}, 1.0, None),
        ({"kind": "equals", "value": [1]}, LIST, [True], "not_equal"),
        ({"kind": "equals", "value": [False]}, LIST, [0], "not_equal"),
        ({"kind": "equals", "value": {"a": 1, "b": 2}}, {"type": "object"}, {"b": 2, "a": 1}, None),
        ({"kind": "exact-text", "value": " a\n"}, TEXT, " a\n", None),
        ({"kind": "exact-text", "value": " a\n"}, TEXT, "a", "not_equal"),
        ({"kind": "exact-text", "value": "a"}, TEXT, "a\n", "not_equal"),
        ({"kind": "exact-text", "value": "\u00e9"}, TEXT, "e\u0301", "not_equal"),
        ({"kind": "exact-text", "value": "a"}, TEXT, None, "not_text"),
        ({"kind": "ordered-equals", "values": ["a", "b"]}, LIST, ["a", "b"], None),
        ({"kind": "ordered-equals", "values": ["a", "b"]}, LIST, ["b", "a"], "other_order"),
        ({"kind": "ordered-equals", "values": ["a", "b"]}, LIST, ["a"], "other_values"),
        ({"kind": "ordered-equals", "values": ["a", "b"]}, LIST, ["a", "b", "b"], "other_values"),
        ({"kind": "ordered-equals", "values": []}, LIST, [], None),
        ({"kind": "ordered-equals", "values": []}, LIST, None, "not_a_list"),
        ({"kind": "set-equals", "values": ["a", "b"]}, LIST, ["b", "a"], None),
        ({"kind": "set-equals", "values": ["a", "b"]}, LIST, ["a", "b", "a"], "repeated_value"),
        ({"kind": "set-equals", "values": ["a", "b"]}, LIST, ["a", "c"], "other_values"),
        ({"kind": "set-equals", "values": ["a", "b"]}, LIST, ["a"], "other_values"),
        ({"kind": "set-equals", "values": [1, True]}, LIST, [True, 1.0], None),
        ({"kind": "set-equals", "values": [1]}, LIST, [True], "other_values"),
        ({"kind": "set-equals", "values": []}, LIST, None, "not_a_list"),
        ({"kind": "contains", "value": "b"}, TEXT, "abc", None),
        ({"kind": "contains", "value": "B"}, TEXT, "abc", "not_found"),
        ({"kind": "contains", "value": "b"}, TEXT, None, "no_text_or_list"),
        ({"kind": "contains", "value": "b"}, LIST, ["a", "b"], None),
        ({"kind": "contains", "value": "b"}, LIST, ["abc"], "not_found"),
        ({"kind": "contains", "value": 1}, LIST, [True, "1"], "not_found"),
        ({"kind": "contains", "value": ""}, LIST, [""], None),
        ({"kind": "not-contains", "value": "23:00"}, TEXT, "at 23:00", "found"),
        ({"kind": "not-contains", "value": "23:00"}, TEXT, "at 17:00", None),
        ({"kind": "not-contains", "value": "23:00"}, LIST, ["23:00"], "found"),
        ({"kind": "not-contains", "value": "23:00"}, LIST, [], None),
        ({"kind": "not-contains", "value": "23:00"}, TEXT, None, "no_text_or_list"),
        ({"kind": "regex", "pattern": "^a.c$"}, TEXT, "abc", None),
        ({"kind": "regex", "pattern": "^a.c$"}, TEXT, "xabc", "no_match"),
        ({"kind": "regex", "pattern": "^A.C$", "flags": "i"}, TEXT, "abc", None),
        ({"kind": "regex", "pattern": "a"}, TEXT, None, "not_text"),
        ({"kind": "one-of", "values": ["a", None]}, TEXT, None, None),
        ({"kind": "one-of", "values": ["a", "b"]}, TEXT, "c", "not_one_of"),
        ({"kind": "one-of", "values": [1]}, {"type": "number"}, 2, "not_one_of"),
        ({"kind": "is-null"}, TEXT, None, None),
        ({"kind": "is-null"}, TEXT, "", "not_null"),
        ({"kind": "is-null"}, LIST, [], "not_null"),
    ],
)
def test_a_kind_judges_a_value(reason, check, field, value, why):
    assert reason(check, value, field) == why


@pytest.mark.parametrize(
    ("title", "why"),
    [
        ("Twelve paper boats", None),
        ("TWELVE", None),
        ("eleven paper boats crossed lake tarn came back", None),
        ("Twelve paper boats crossed Lake Tarn came back twelve", "not_words"),
        ("", "not_words"),
        ("Twelve  boats", "not_words"),
        (" Twelve", "not_words"),
        ("Twelve ", "not_words"),
        ("Twelve\tboats", "not_words"),
        ("Twelve\nboats", "not_words"),
        ("Twelve boats\n", "not_words"),
        ("Twelve-boats", "not_words"),
        ("Tarn.", "not_words"),
        ("Lake Tarn 9am", "not_words"),
        ("Caf\u00e9", "not_words"),
        ("paper boat", "foreign_word"),
        ("pape", "foreign_word"),
        ("am", "foreign_word"),
        ("Caf", "foreign_word"),
        ("t", None),
        ("e", "foreign_word"),
        ("s", "foreign_word"),
        (None, "not_text"),
    ],
)
def test_a_title_is_made_of_whole_words_of_the_evidence(reason, title, why):
    assert reason({"kind": "words-from", "evidence": "page"}, title) == why


def test_a_title_has_80_characters_at_most(reason):
    check = {"kind": "words-from", "evidence": "long"}
    text = f"{'a' * 40} {'b' * 39} {'c' * 40}"
    assert reason(check, f"{'a' * 40} {'b' * 39}", long=text) is None
    assert reason(check, f"{'a' * 40} {'c' * 40}", long=text) == "not_words"


def test_a_slow_pattern_is_stopped_and_fails(reason, monkeypatch):
    monkeypatch.setattr("proctor.packets.kinds.REGEX_TIMEOUT_S", 1e-6)
    check = {"kind": "regex", "pattern": r"^(\w+\s?)*$"}
    assert reason(check, "x" * 45 + "!" * 2000) == "timed_out"


def test_the_limit_of_a_pattern_is_a_second():
    from proctor.packets.kinds import REGEX_TIMEOUT_S

    assert REGEX_TIMEOUT_S == 1.0


GROUP = {
    "id": "both",
    "kind": "all-of",
    "field": "text",
    "of": [
        {"kind": "contains", "value": "a"},
        {"id": "short", "kind": "regex", "pattern": "^.{1,3}$"},
        {"kind": "equals", "field": "n", "value": 1},
    ],
}


@pytest.mark.parametrize(
    ("text", "number", "why"),
    [
        ("abc", 1, None),
        ("xyz", 1, "both.1: not_found"),
        ("abcd", 1, "short: no_match"),
        ("abc", 2, "both.3: not_equal"),
        ("xyzz", 2, "both.1: not_found"),
    ],
)
def test_a_group_passes_when_all_its_parts_do(sealed, text, number, why):
    sealed.case["response"] = {"text": {"type": "string"}, "n": {"type": "integer"}}
    sealed.case["checks"] = [GROUP]
    (check,) = sealed.load().cases[0].checks
    assert check.check({"text": text, "n": number}).reason == why


def test_a_group_may_stand_in_a_group(sealed):
    inner = {"kind": "all-of", "of": [{"kind": "equals", "value": "09:30"}]}
    sealed.case["checks"] = [{**GROUP, "field": "opens_at", "of": [inner]}]
    (check,) = sealed.load().cases[0].checks
    values = {"opens_at": "09:31", "citations": []}
    assert check.check(values).reason == "both.1: both.1.1: not_equal"


@pytest.mark.parametrize(
    ("field", "values", "why"),
    [
        ("/citations/0", {"citations": ["page"]}, None),
        ("/citations/0", {"citations": ["other"]}, "not_equal"),
        ("/citations/0", {"citations": []}, "missing_field"),
        ("/citations/1", {"citations": ["page"]}, "missing_field"),
        ("/claim/from", {"claim": {"from": "page"}}, None),
        ("/claim/from", {"claim": None}, "missing_field"),
    ],
)
def test_a_pointer_leads_into_lists_and_objects(sealed, field, values, why):
    sealed.case["response"] |= {
        "claim": {"type": "object", "nullable": True, "fields": {"from": {"type": "string"}}}
    }
    sealed.case["checks"] = [{"id": "c", "kind": "equals", "field": field, "value": "page"}]
    (check,) = sealed.load().cases[0].checks
    checked = check.check(values)
    assert (checked.field, checked.reason) == (field, why)


class TestGrammars:
    @pytest.fixture
    def checks(self, sealed):
        grammar = {"type": "string", "nullable": True, "grammar": {"wordsFrom": "page"}}
        inner = {"type": "object", "nullable": True, "fields": {"title": grammar}}
        sealed.case["evidence"] = {"page": "Lake Tarn", "other": "boats"}
        sealed.case["response"] = {"title": grammar, "note": inner}

        def checks(*written):
            sealed.case["checks"] = list(written)
            return {check.id: check for check in sealed.load().cases[0].checks}

        return checks

    def words(self, field, evidence="page"):
        return {"id": "w", "kind": "words-from", "field": field, "evidence": evidence}

    def test_one_that_no_check_asks_about_is_checked_all_the_same(self, checks):
        found = checks({"id": "n", "kind": "is-null", "field": "note"})
        assert list(found) == ["n", "grammar:title", "grammar:/note/title"]
        title = found["grammar:title"]
        for value, why in [("Lake", None), ("boats", "foreign_word"), (None, None)]:
            assert title.check({"title": value, "note": None}).reason == why
        assert title.check({"title": "x y", "note": None}).kind == "words-from"
        inner = found["grammar:/note/title"]
        for note, why in [({"title": "x"}, "foreign_word"), ({"title": None}, None), (None, None)]:
            assert inner.check({"title": None, "note": note}).reason == why

    def test_one_that_a_check_asks_about_is_not_checked_twice(self, checks):
        assert list(checks(self.words("title"))) == ["w", "grammar:/note/title"]
        assert list(checks(self.words("/title"))) == ["w", "grammar:/note/title"]
        assert list(checks(self.words("/note/title"))) == ["w", "grammar:title"]

    def test_a_check_on_other_words_does_not_stand_for_it(self, checks):
        assert list(checks(self.words("title", "other")))[:2] == ["w", "grammar:title"]


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ("equals", "P6201 a check must be a mapping with `id`, `kind` and `field`, not a string"),
        ({"id": "c", "field": "opens_at"}, "P6201 a check needs a `kind`"),
        ({"kind": "equal"}, "P6201 there is no kind of check `equal`"),
        ({"kind": "equals", "value": "x", "id": None}, "`cases[0].checks[0].id`: expected `str`"),
        ({"kind": "equals", "value": "x", "id": "a b"}, "`cases[0].checks[0].id`"),
        ({"kind": "equals"}, "P6201 the key `value` is missing"),
        ({"kind": "equals", "value": "x", "values": []}, "P6201 unknown key `values`"),
        ({"kind": "equals", "value": "x", "field": "opens"}, "the contract of the case has no `op"),
        ({"kind": "equals", "value": "x", "field": ""}, "the contract of the case has no ``"),
        ({"kind": "equals", "value": "x", "field": "/a~2"}, "`/a~2` is not a JSON Pointer"),
        ({"kind": "equals", "value": "x", "field": "/opens_at/0"}, "has no `/opens_at/0`"),
        ({"kind": "exact-text", "value": 1}, "`cases[0].checks[0].value`: expected `str`"),
        ({"kind": "regex", "pattern": "("}, "P6201 `pattern` is not a regular expression"),
        ({"kind": "regex", "pattern": "a", "flags": "g"}, "P6201 `flags`: `g` is not one of"),
        ({"kind": "words-from", "evidence": "pag"}, "P6201 the case has no evidence `pag`"),
        ({"kind": "all-of", "of": [{"kind": "equal"}]}, "P6201 there is no kind of check `equal`"),
        ({"kind": "all-of", "of": ["x"]}, "P6201 a check must be a mapping"),
        ({"kind": "set-equals", "field": "citations", "values": ["a", "a"]}, "P6201 `values` has"),
    ],
)
def test_a_check_that_cannot_be_asked_is_refused(sealed, check, problem):
    given = {"id": "c", "field": "opens_at", **check} if isinstance(check, dict) else check
    sealed.case["checks"] = [given if check != {"id": "c", "field": "opens_at"} else check]
    (found,) = sealed.problems()
    assert problem in found


@pytest.mark.parametrize(
    "check",
    [
        {"kind": "contains", "value": ""},
        {"kind": "regex", "pattern": ""},
        {"kind": "regex", "pattern": "a*"},
        {"kind": "all-of", "of": []},
    ],
)
def test_a_check_that_can_never_fail_is_refused(sealed, check):
    sealed.case["checks"] = [{"id": "c", "field": "opens_at", **check}]
    (found,) = sealed.problems()
    assert found.startswith("P6202 ")


def test_a_case_without_checks_is_refused(sealed):
    sealed.case["checks"] = []
    assert sealed.problems() == ["P6202 a case without checks can never fail"]


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ({"kind": "equals", "field": "n", "value": "1"}, "`value` must be an integer"),
        ({"kind": "equals", "field": "t", "value": "123456"}, "`value` is longer than 5"),
        ({"kind": "equals", "field": "t", "value": None}, "`value` must be a string, not null"),
        ({"kind": "equals", "field": "/l/0", "value": 1}, "`value` must be a string"),
        ({"kind": "exact-text", "field": "n", "value": "1"}, "`value` must be an integer"),
        ({"kind": "ordered-equals", "field": "l", "values": ["a", 1]}, "`values[1]` must be a str"),
        ({"kind": "ordered-equals", "field": "t", "values": ["a"]}, "`values` must be a string"),
        ({"kind": "set-equals", "field": "l", "values": ["a", "b", "c"]}, "2 items at most"),
        ({"kind": "one-of", "field": "e", "values": ["x", "z"]}, "`values[1]` must be one of x, y"),
        ({"kind": "one-of", "field": "e", "values": []}, "`values` is empty"),
        ({"kind": "is-null", "field": "t"}, "the field is not `nullable`"),
        ({"kind": "contains", "field": "n", "value": "1"}, "the field is of type integer"),
        ({"kind": "contains", "field": "t", "value": 1}, "only a text is found in a text"),
        ({"kind": "contains", "field": "l", "value": 1}, "`value` must be a string"),
        ({"kind": "not-contains", "field": "n", "value": "1"}, "the field is of type integer"),
        ({"kind": "not-contains", "field": "t", "value": ""}, "an empty `value` is found"),
        ({"kind": "regex", "field": "l", "pattern": "a"}, "the field is of type list"),
        ({"kind": "words-from", "field": "n", "evidence": "page"}, "the field is of type integer"),
    ],
)
def test_a_check_that_could_never_pass_is_refused(sealed, check, why):
    sealed.case["response"] = {
        "t": {"type": "string", "maxLength": 5},
        "n": {"type": "integer"},
        "e": {"type": "enum", "options": ["x", "y"]},
        "l": {"type": "list", "items": {"type": "string"}, "maxItems": 2},
    }
    sealed.case["checks"] = [{"id": "c", **check}]
    (found,) = sealed.problems()
    assert found.startswith("P6201 the check can never pass: ")
    assert why in found


def test_nothing_is_said_of_what_the_contract_leaves_open(sealed):
    sealed.case["response"] = {"any": {"type": "object"}}
    for number, check in enumerate(
        [
            {"kind": "equals", "value": 1},
            {"kind": "is-null"},
            {"kind": "contains", "value": 1},
            {"kind": "not-contains", "value": ""},
            {"kind": "regex", "pattern": "a"},
            {"kind": "ordered-equals", "values": [1]},
            {"kind": "words-from", "evidence": "page"},
        ]
    ):
        sealed.case["checks"] = [{"id": f"c{number}", "field": "/any/x/0", **check}]
        assert sealed.problems() == []


def test_an_id_stands_once_in_a_case_also_in_groups(sealed):
    one = {"id": "c", "kind": "equals", "field": "opens_at", "value": "x"}
    group = {"id": "g", "kind": "all-of", "field": "opens_at", "of": [one]}
    sealed.case["checks"] = [one, group]
    assert sealed.problems() == ["P6201 two checks have the id `c`"]


def test_groups_are_not_nested_without_end(sealed):
    check = {"kind": "equals", "value": "x"}
    for _ in range(6):
        check = {"kind": "all-of", "of": [check]}
    sealed.case["checks"] = [{**check, "id": "g", "field": "opens_at"}]
    assert sealed.problems() == ["P6201 groups are nested deeper than 5"]


def test_the_kinds_are_those_of_the_page():
    assert sorted(listed_kinds()) == [
        "all-of", "contains", "equals", "exact-text", "is-null", "not-contains", "one-of",
        "ordered-equals", "regex", "set-equals", "words-from",
    ]  # fmt: skip


CHECK = {"field": "opens_at", "id": "exact-time", "kind": "equals", "value": "09:30"}
VECTOR = "faebf96ce3fd2191c080de9d35135045e80b3a170bc219dadbeb786986353f66"
"""Given with the format, and made by nobody's program here."""


def test_what_is_expected_is_sealed_as_the_format_says():
    assert expectations_sha256("0" * 32, {"c1": [CHECK]}) == VECTOR
    assert expectations_sha256("0" * 32, {"c1": [dict(reversed(CHECK.items()))]}) == VECTOR


@pytest.mark.parametrize(
    ("salt", "checks"),
    [
        ("1" + "0" * 31, {"c1": [CHECK]}),
        ("0" * 32, {"c2": [CHECK]}),
        ("0" * 32, {"c1": [{**CHECK, "value": "09:31"}]}),
        ("0" * 32, {"c1": [{**CHECK, "id": "time"}]}),
        ("0" * 32, {"c1": [CHECK, CHECK]}),
        ("0" * 32, {"c1": [CHECK], "c2": []}),
    ],
)
def test_whatever_is_expected_changes_the_seal(salt, checks):
    assert expectations_sha256(salt, checks) != VECTOR


def test_the_order_of_checks_is_sealed_too():
    other = {**CHECK, "id": "other"}
    seals = {
        expectations_sha256("0" * 32, {"c": order}) for order in ([CHECK, other], [other, CHECK])
    }
    assert len(seals) == 2
