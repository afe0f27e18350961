"""Projects on which pytest is run within this process, by its own plugin for testing plugins."""

from __future__ import annotations

# What an inner run imports first is forgotten after it, and would be imported again each time.
import proctor.live_runs  # noqa: F401
import proctor.pytest_plugin.collecting  # noqa: F401
import proctor.pytest_plugin.fixture  # noqa: F401
import proctor.python_api.threads  # noqa: F401
from support import SUITE

SUBJECT = "answer@local/tiny"


def node(case: str, *, suite: str = "quiz", subject: str = SUBJECT) -> str:
    """The id of the item of a case."""
    return f"evals/{suite}.eval.yaml::{case}[{subject}]"


def run(pytester, *arguments: str):
    """Run pytest on the project in the current folder."""
    # A plugin that another package brings would be imported anew each time.
    others = ("-p", "no:cacheprovider", "-p", "no:langsmith_plugin")
    return pytester.runpytest_inprocess(*others, *arguments)


def outcomes(result) -> dict[str, str]:
    """What became of each item of a run with `-rA`, by its id."""
    found = {}
    for line in result.outlines:
        word, _, rest = line.partition(" ")
        if word in {"PASSED", "FAILED", "ERROR", "XFAIL", "XPASS"} and "::" in rest:
            found[rest.partition(" - ")[0]] = word.lower()
    return found


def two_prompts(project):
    """A second prompt; the answers to it are those to the first."""
    prompt = (project.root / "prompts/answer.prompt.yaml").read_text()
    project.write("prompts/other.prompt.yaml", prompt)
    suite = SUITE.replace("prompt: answer", "prompts: [answer, other]")
    project.write("evals/quiz.eval.yaml", suite)


def section(result, name: str) -> list[str]:
    """The lines below the heading of a failure."""
    lines = iter(result.outlines)
    next(line for line in lines if line.startswith("_") and f" {name} " in line)
    found = []
    for line in lines:
        if line.startswith(("___", "===")):
            break
        found.append(line)
    return found


def glob(text: str) -> str:
    """A text for `fnmatch_lines`, where a bracket would be a set."""
    return text.replace("[", "[[]")
