"""A kind of assertion from another package."""

from proctor import AssertionSpec, Check, Outcome, ProctorError


class PoliteSpec(AssertionSpec, frozen=True, kw_only=True):
    word: str = "please"


class Polite:
    """The answer holds a polite word."""

    Spec = PoliteSpec

    def __init__(self, spec):
        self.spec = spec

    @staticmethod
    def compile(spec, scope):
        if not spec.word:
            raise ProctorError("`word` is empty", code="P6202")
        return Polite(spec)

    def needs(self, case):
        return None

    def check(self, answered, case):
        is_polite = self.spec.word in (answered.answer.text or "")
        outcome = Outcome.PASSED if is_polite is not self.spec.negate else Outcome.FAILED
        reason = None if outcome is Outcome.PASSED else "impolite"
        return Check(self.spec.id, self.spec.kind, outcome, self.spec.severity, reason)
