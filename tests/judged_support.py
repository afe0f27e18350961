"""Projects whose answers are judged, and what judges say in them."""

from __future__ import annotations

import json

from live_support import YES, LiveProject
from rubric_prompts import written

PASS = '{"verdict": "pass", "reason": "It is kind."}'  # noqa: S105 - a verdict
FAIL = '{"verdict": "fail", "reason": "It is curt."}'
JUNK = "I would rather not say."
RIGHT = {"id": "right", "kind": "equals", "field": "label"}
TONE = {"id": "tone", "kind": "llm-judge", "rubric": "judge-tone"}
JUDGE = {"model": "local/judge"}
OF_JUDGES = "Judge the reply"
"""What the messages of the rubric hold, and those of the prompt do not."""


class JudgedProject(LiveProject):
    """A project that asks a script for answers and for verdicts on them."""

    def __init__(self, root) -> None:
        super().__init__(root)
        self.rubric()
        self.judged()

    def rubric(self, name: str = "judge-tone", **parts) -> None:
        """Write a rubric; `parts` are those of `written`."""
        self.write(f"prompts/{name}.prompt.yaml", written(**parts))

    def judged(self, *assertions: dict, judge: dict | None = JUDGE, **keys) -> None:
        """Write the suite; without `assertions` the tone of right answers is judged."""
        suite = {"prompt": "answer", "dataset": "cases.jsonl"} | keys
        suite["assertions"] = list(assertions) or [RIGHT, TONE]
        if judge is not None:
            suite["judge"] = judge
        self.write("evals/quiz.eval.yaml", json.dumps(suite))

    def says(self, *verdicts: dict | str, answer: str = '{"label": "yes"}') -> None:
        """Write the script: what judges say, by take when there are several, and the answer."""
        lines = [
            {"contains": OF_JUDGES, "text": said} | ({"take": take} if len(verdicts) > 1 else {})
            if isinstance(said, str)
            else {"contains": OF_JUDGES, **said}
            for take, said in enumerate(verdicts, 1)
        ]
        self.script(*lines, {"text": answer})

    @property
    def stored_votes(self) -> list[dict]:
        """The lines of the cassette that judges brought."""
        return [line for line in self.stored if line["call"] == "judge"]


class Asked:
    """A script function that notes who was asked for what.

    Args:
        judge: What judges reply, or a function of the request and the call.
        answer: The same for answers.
    """

    def __init__(self, judge: object = PASS, answer: object = YES) -> None:
        self._judge, self._answer = judge, answer
        self.answers: list[tuple[str, int]] = []
        self.verdicts: list[tuple[str, int]] = []

    def __call__(self, request, call):
        is_judge = OF_JUDGES in request.messages[0].content
        (self.verdicts if is_judge else self.answers).append((call.case, call.take))
        said = self._judge if is_judge else self._answer
        return said(request, call) if callable(said) else said


def judged_check(row: dict) -> dict:
    """The judged check of a row that has one."""
    (check,) = [check for check in row["checks"] if check["kind"] == "llm-judge"]
    return check


def votes_of(row: dict) -> list[str | None]:
    """The verdicts on a row."""
    return [vote["verdict"] for vote in judged_check(row)["votes"]]
