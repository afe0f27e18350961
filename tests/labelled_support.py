"""Projects whose judged answers people have labelled."""

from __future__ import annotations

import json
from hashlib import sha256

from judged_support import FAIL, JUDGE, OF_JUDGES, PASS, RIGHT, TONE, JudgedProject
from live_support import YES

NAMES = ["one", "two", "three"]
LABELS = "labels/quiz.jsonl"
VERDICTS = {"pass": PASS, "fail": FAIL}


def label(case: str, verdict: str, *, text: str = YES, **more: object) -> dict:
    """A label of an answer with this text."""
    digest = sha256(text.encode()).hexdigest()
    return {"case": case, "assertion": "tone", "verdict": verdict, "answer_sha256": digest, **more}


class LabelledProject(JudgedProject):
    """A project of three cases, whose suite asks one judge once and names a file of labels."""

    def __init__(self, root) -> None:
        super().__init__(root)
        self.named_cases(*NAMES)
        self.labelled()
        self.labels()

    def labelled(self, *assertions: dict, thresholds: dict | None = None, **keys) -> None:
        """Write the suite; without `assertions` the tone of right answers is judged."""
        limits = {"passRate": 0.01} | (thresholds or {})
        keys = {"judge": JUDGE | {"runs": 1}, "labels": LABELS} | keys
        self.judged(*(assertions or (RIGHT, TONE)), thresholds=limits, **keys)

    def labels(self, *lines: dict | str) -> None:
        """Write the file of labels."""
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        self.write(f"evals/{LABELS}", "".join(f"{text}\n" for text in texts))

    def table(
        self, both_pass: int, only_judge_passes: int, only_people_pass: int, both_fail: int
    ) -> dict[str, str]:
        """As many cases, labels and verdicts; the latter in the script, and returned by case."""
        pairs = [("pass", "pass")] * both_pass + [("fail", "pass")] * only_judge_passes
        pairs += [("pass", "fail")] * only_people_pass + [("fail", "fail")] * both_fail
        names = [f"c{number:02}" for number in range(len(pairs))]
        self.named_cases(*names)
        self.labels(*(label(name, pair[0]) for name, pair in zip(names, pairs, strict=True)))
        said = {name: VERDICTS[judge] for name, (_, judge) in zip(names, pairs, strict=True)}
        self.script(
            *({"contains": OF_JUDGES, "case": name, "text": text} for name, text in said.items()),
            self.says_yes(),
        )
        return said
