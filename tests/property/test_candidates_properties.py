import math
from fractions import Fraction

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st

from candidate_support import DOORS, Calls, candidates, compare, failing, items
from proctor import JsonSchemaScorer, RegexScorer, ScorerTarget

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, 1.0, 1.5, -1.0])
    | st.sampled_from(["", "a", "b", "1"])
)
NAMES = st.sampled_from(["a", "b", "~/", ""])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"])


def schemas_above(inner):
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES,
            "const": VALUES,
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": st.booleans(),
        },
    )


SCHEMAS = st.recursive(st.booleans(), schemas_above, max_leaves=4)


@given(SCHEMAS, VALUES)
def test_the_subset_agrees_with_a_validator_of_the_whole(schema, value):
    fits = JsonSchemaScorer(schema, strict=True)(ScorerTarget(None, value)).passed
    assert fits is jsonschema_rs.Draft202012Validator(schema).is_valid(value)


def places_in(value, path=""):
    yield path, value
    if isinstance(value, dict):
        for name, member in value.items():
            yield from places_in(member, f"{path}/{name.replace('~', '~0').replace('/', '~1')}")
    if isinstance(value, list):
        for at, member in enumerate(value):
            yield from places_in(member, f"{path}/{at}")


@given(VALUES)
def test_a_pointer_made_for_a_place_leads_there(value):
    for path, there in places_in(value):
        result = RegexScorer(path, "^|$")(ScorerTarget(None, value))
        assert result.passed is not isinstance(there, (dict, list))
        if not result.passed:
            assert result.evidence == {"reason": "not_text"}


FIGURES = st.floats(-1e3, 1e3) | st.sampled_from([0.0, 0.5, 1.0])
ROWS = st.lists(
    st.lists(st.none() | st.tuples(FIGURES, st.booleans()), min_size=2, max_size=2),
    min_size=1,
    max_size=4,
)


def calls_for(rows):
    """Callbacks that score as the rows say; None raises."""
    score, passes, hooks = {}, set(), {}
    for name, row in zip("abcd", rows, strict=False):
        for item, figures in zip("12", row, strict=True):
            pair = f"{name}:{item}"
            if figures is None:
                hooks[pair] = failing(ValueError())
            else:
                score[pair] = figures[0]
                passes |= {pair} if figures[1] else set()
    return Calls(score, passes, hooks)


@given(ROWS, st.permutations(range(4)))
def test_figures_order_and_ranks_follow_from_the_rows_alone(rows, order):
    names = candidates(*"abcd"[: len(rows)])
    shuffled = [names[at] for at in order if at < len(names)]
    scores = compare(**calls_for(rows).callbacks, candidates=names, on_error="record")
    assert scores == compare(**calls_for(rows).callbacks, candidates=shuffled, on_error="record")

    for one in scores:
        row = rows["abcd".index(one.candidate_id)]
        measured = [figures for figures in row if figures is not None]
        exact = sum(Fraction(score) for score, _ in measured) / len(row)
        assert one.mean_score == float(exact)
        assert one.pass_rate == sum(passed for _, passed in measured) / len(row)
        assert (one.scorer_count, one.errored_count) == (len(measured), len(row) - len(measured))
        assert one.rank == 1 + sum(
            (other.mean_score, other.pass_rate) > (one.mean_score, one.pass_rate)
            for other in scores
        )
    keys = [(-one.mean_score, -one.pass_rate, one.candidate_id) for one in scores]
    assert keys == sorted(keys)
    assert all(math.isfinite(one.mean_score) for one in scores)


@given(ROWS, st.sampled_from(DOORS), st.integers(1, 8), st.sampled_from(["raise", "record"]))
def test_every_door_and_concurrency_comes_to_the_same(rows, door, concurrency, on_error):
    def outcome(door, concurrency):
        try:
            return compare(
                door,
                **calls_for(rows).callbacks,
                candidates=candidates(*"abcd"[: len(rows)]),
                items=items("1", "2"),
                concurrency=concurrency,
                on_error=on_error,
            )
        except ValueError as error:
            return error.__notes__

    assert outcome(door, concurrency) == outcome(DOORS[0], 1)
