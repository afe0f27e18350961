"""Groups of assertions, and kinds of other packages, as suites are read."""

from proctor.documents import StructReader
from proctor.errors import SuiteError
from proctor.loading import assertions
from proctor.loading.assertions import read_assertions
from proctor.loading.yaml import parse_yaml
from proctor.records import GroupSpec, LoadedAssertion

HEAD = "assertions:\n"


def read(text):
    """The assertions of a suite, and `line: code: message` of each problem."""
    document = parse_yaml((HEAD + text).encode(), "quiz.yaml")
    reader = StructReader(document, error=SuiteError, code="P6201")
    found = read_assertions(document.value["assertions"], reader)
    problems = [
        f"{one.where.partition(':')[2]}: {one.code}: {one.message}" for one in reader.problems
    ]
    return found, problems


def good(text):
    found, problems = read(text)
    assert problems == []
    return found


def bad(text):
    return read(text)[1]


def test_the_parts_of_a_group_are_read_with_their_places_and_ids():
    (group,) = good(
        "  - id: tone\n"
        "    kind: all-of\n"
        "    negate: true\n"
        "    severity: fail\n"
        "    of:\n"
        "      - {kind: contains, value: sorry}\n"
        "      - {id: short, kind: length, max: 9, negate: true}\n"
        "      - kind: any-of\n"
        "        of:\n"
        "          - {kind: latency, max: 5}\n"
    )
    assert isinstance(group.spec, GroupSpec)
    assert (group.where, group.spec.negate) == ("quiz.yaml:2", True)
    first, second, third = group.spec.of
    assert all(isinstance(part, LoadedAssertion) for part in (first, second, third))
    assert [(part.spec.id, part.spec.kind, part.where) for part in group.spec.of] == [
        ("tone.1", "contains", "quiz.yaml:7"),
        ("short", "length", "quiz.yaml:8"),
        ("tone.3", "any-of", "quiz.yaml:9"),
    ]
    assert second.spec.negate
    (deep,) = third.spec.of
    assert (deep.spec.id, deep.where) == ("tone.3.1", "quiz.yaml:11")


def test_every_problem_of_every_part_is_told_with_its_line():
    assert bad(
        "  - id: a\n"
        "    kind: all-of\n"
        "    of:\n"
        "      - {kind: contians, value: x}\n"
        "      - {kind: contains, vlaue: x}\n"
        "      - {kind: contains, value: x, severity: warn}\n"
        "      - text\n"
        "      - kind: any-of\n"
        "        of:\n"
        "          - {value: x}\n"
        "          - {kind: latency}\n"
        "  - {id: b, kind: any-of}\n"
    ) == [
        "5: P6201: there is no assertion kind `contians`",
        "6: P6201: unknown key `vlaue` in `assertions[0].of[1]`",
        "7: P6201: an assertion in a group has no `severity` of its own",
        "8: P6201: an assertion must be a mapping with `id` and `kind`, not a string",
        "11: P6201: an assertion needs a `kind`",
        "12: P6201: the key `max` is missing in `assertions[0].of[4].of[1]`",
        "13: P6201: the key `of` is missing in `assertions[1]`",
    ]


def test_a_group_of_nothing_is_refused():
    assert bad("  - {id: a, kind: all-of, of: []}\n") == [
        "2: P6202: `all-of` of no assertions decides nothing"
    ]
    assert bad("  - {id: a, kind: all-of, of: x}\n")[0].startswith("2: P6201: `assertions[0].of`")


def test_an_id_is_used_once_in_groups_too():
    part = "{kind: latency, max: 1}"
    assert bad(
        f"  - {{id: a, kind: all-of, of: [{part}]}}\n"
        "  - {id: a.1, kind: latency, max: 1}\n"
        f"  - {{id: b, kind: all-of, of: [{{id: c, kind: cost, max: 1}}, {part}]}}\n"
        "  - {id: c, kind: cost, max: 1}\n"
    ) == [
        "3: P6201: two assertions have the id `a.1`",
        "5: P6201: two assertions have the id `c`",
    ]


def test_an_id_made_from_a_long_one_must_fit_too():
    (problem,) = bad(f"  - {{id: {'a' * 128}, kind: all-of, of: [{{kind: cost, max: 1}}]}}\n")
    assert problem.startswith("2: P6201: `assertions[0].of[0].id`:")


def nested(levels):
    return "{id: a, kind: any-of, of: [" * levels + "{id: b, kind: cost, max: 1}" + "]}" * levels


def test_groups_are_nested_no_deeper_than_five():
    ids = iter(range(1000))

    def unique(text):
        while "id: a," in text:
            text = text.replace("id: a,", f"id: n{next(ids)},", 1)
        return text

    good(f"  - {unique(nested(5))}\n")
    assert bad(f"  - {unique(nested(6))}\n") == ["2: P6201: groups are nested deeper than 5"]


def test_a_group_has_at_most_twenty_parts():
    def parts(count):
        return ", ".join(["{kind: cost, max: 1}"] * count)

    good(f"  - {{id: a, kind: any-of, of: [{parts(20)}]}}\n")
    assert bad(f"  - {{id: a, kind: any-of, of: [{parts(21)}]}}\n") == [
        "2: P6201: 21 assertions in a group are more than 20"
    ]


def test_a_suite_has_at_most_200_assertions_in_all():
    parts = ", ".join(["{kind: cost, max: 1}"] * 20)
    groups = [f"  - {{id: g{n}, kind: any-of, of: [{parts}]}}\n" for n in range(10)]
    good("".join(groups[:9]))
    assert bad("".join(groups)) == [
        "1: P6201: 210 assertions, with those in groups, are more than 200"
    ]


def test_a_broken_group_is_not_taken_for_one_that_is_not_there():
    assert bad(
        "  - {id: a, kind: cost, max: 1, severity: warn}\n"
        "  - {id: b, kind: all-of, of: [{kind: gone}]}\n"
    ) == ["3: P6201: there is no assertion kind `gone`"]


def test_a_kind_that_is_refused_is_told_where_it_is_used(monkeypatch):
    def refuse(name):
        raise SuiteError("the plugins clash", code="P6201")

    monkeypatch.setattr(assertions.assertion_kinds, "get", refuse)
    assert bad("  - {id: a,\n     kind: acme}\n") == ["3: P6201: the plugins clash"]
