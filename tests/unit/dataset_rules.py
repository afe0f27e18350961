"""What the cases of a dataset must fit, for tests of how datasets are read."""

from proctor.loading.cases import CellTypes
from proctor.records import Case

WHERE = "evals/quiz.eval.yaml:2"

WHOLE_CASE = Case(
    id="late-return",
    inputs={"total": 74.5, "message": "Can I?"},
    expected={"d": "deny"},
    tags=["policy"],
    tiers=["smoke"],
    metadata={"by": "Ada"},
    context=["a note"],
    dos=["be kind"],
    donts=["guess"],
)
"""A case with everything it may have."""

ANY_TEXT = CellTypes(inputs=None, expected={}, answers_are_objects=False)


class AnyCase:
    """Rules that every case fits."""

    def __init__(self, cell_types=ANY_TEXT):
        self._cell_types = cell_types

    def faults(self, case):
        return iter(())

    def cell_types(self):
        return self._cell_types


class NoCase(AnyCase):
    """Rules that no case fits, a number of faults each."""

    def __init__(self, each):
        super().__init__()
        self.each = each

    def faults(self, case):
        return (("P6104", f"fault {number}") for number in range(self.each))
