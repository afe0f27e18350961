"""The agent under test: from a request in plain words it builds a workflow for a notebook.

No model is behind it. It knows a few phrases, so that the example gives the same every time.
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from proctor import Build, TargetAnswer

if TYPE_CHECKING:
    from proctor import Case, Scenario

Step = dict[str, Any]
Workflow = dict[str, Any]

TIMEOUT_S = 10
FORGETFUL_REPEAT = 2
"""A model draws a number where it could answer this way or that. Here the repeat decides."""


class NotUnderstood(Exception):
    """A request that the agent has no steps for: its build fails."""


class LaneError(Exception):
    """A reply of a lane that is no success. Proctor reads `status` to see whose fault it is."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"the lane said {status}: {said}")
        self.status = status


def read_request(request: str, repeat: int) -> list[Step]:
    """The steps that a request asks for, one per part of it."""
    return [_step(part, repeat) for part in re.split(r",? then ", request.rstrip("."))]


def _step(part: str, repeat: int) -> Step:
    text = part.lower()
    if found := re.fullmatch(r"save the text as a note tagged (\w+)", text):
        return {"do": "save", "text": "$text", "tags": [found[1]]}
    if text == "save the text where i find it again":
        forgets = repeat == FORGETFUL_REPEAT
        return {"do": "save", "text": "$text", "tags": [] if forgets else ["inbox"]}
    if found := re.fullmatch(r"tag the notes with the words as (\w+)", text):
        return {"do": "tag", "words": "$words", "as": found[1]}
    if text == "show the notes with the words":
        return {"do": "show", "words": "$words"}
    if found := re.fullmatch(r"show the notes tagged (\w+)", text):
        return {"do": "show", "tagged": found[1]}
    raise NotUnderstood(part)


class NotesAgent:
    """Builds a workflow for a case, and runs it on a lane for each of the case's scenarios."""

    def health(self, lane: str) -> bool:
        """Whether a lane answers; one that does not raises."""
        _ask(lane, "GET", "/health")
        return True

    def build(self, case: Case, repeat: int, lane: str) -> Build:
        """Make the workflow of a case, and have the lane keep it."""
        steps = read_request(case.inputs["request"], repeat)
        workflow = {"name": f"{case.id}-{repeat}", "steps": steps}
        _keep(workflow, lane)
        return Build(workflow, transcript=[f"read {len(steps)} steps out of the request"])

    def prepare(self, scenario: Scenario, artifact: Workflow, lane: str) -> None:
        """Have the lane keep a notebook with nothing but the notes of the scenario.

        And the workflow once more: a lane that was started again meanwhile has forgotten it.
        """
        notes = scenario.inputs.get("notes", [])
        _keep(artifact, lane)
        _ask(lane, "PUT", f"/notebooks/{_notebook(scenario, artifact)}", notes)

    def answer(self, scenario: Scenario, artifact: Workflow, lane: str) -> TargetAnswer:
        """Run the workflow in that notebook."""
        sent = {"notebook": _notebook(scenario, artifact), "inputs": scenario.inputs}
        said = _ask(lane, "POST", f"/workflows/{artifact['name']}", sent)
        answer = {"found": said["found"], "count": len(said["notes"])}
        return TargetAnswer(text=json.dumps(answer), evidence=said["notes"])

    def cleanup(self, artifact: Workflow, lane: str) -> None:
        """Have the lane forget the workflow."""
        _ask(lane, "DELETE", f"/workflows/{artifact['name']}")


def _keep(workflow: Workflow, lane: str) -> None:
    _ask(lane, "PUT", f"/workflows/{workflow['name']}", workflow["steps"])


def _notebook(scenario: Scenario, artifact: Workflow) -> str:
    """The notebook that a scenario shares with others, else one of its own."""
    return scenario.inputs.get("notebook") or f"{artifact['name']}-{scenario.name}"


def _ask(lane: str, method: str, path: str, body: object = None) -> dict[str, Any]:
    """What a lane replies.

    Raises:
        LaneError: When the reply is no success.
        OSError: When there is none. Proctor tries that again, on another lane where it can.
    """
    address = urlsplit(lane)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=TIMEOUT_S)
    try:
        connection.request(method, path, json.dumps(body))
        reply = connection.getresponse()
        said = reply.read().decode()
    finally:
        connection.close()
    if reply.status != HTTPStatus.OK:
        raise LaneError(reply.status, said)
    return json.loads(said)
