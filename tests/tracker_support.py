"""A LangSmith on 127.0.0.1, and the command line in this process with it as its tracker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from werkzeug import Response
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from fake_provider import JSON, FakeProvider, Seen
from proctor.cli.main import cli
from proctor.clock import Clock
from proctor.drivers.langsmith import LangSmith, Sending
from proctor.drivers.langsmith_api import LangSmithApi
from proctor.errors import ProctorError
from proctor.providers.hosts import HostRules, open_tracker
from support import Project

KEY = "lsv2-test-0001-canary"
INPUT, EXPECTED, SAID, REASON = (
    "canary-input-81",
    "canary-expected-82",
    "canary-answer-83",
    "canary-reason-84",
)
CANARIES = (INPUT, EXPECTED, SAID, REASON)


class FakeLangSmith:
    """What LangSmith keeps: datasets, examples, experiments, runs and feedback."""

    def __init__(self, server: FakeProvider) -> None:
        self.server = server.does(self)
        self.datasets: dict[str, str] = {}
        self.examples: dict[str, dict[str, Any]] = {}
        self.sessions: dict[str, dict[str, Any]] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.feedback: dict[str, dict[str, Any]] = {}

    def __call__(self, seen: Seen) -> Response:
        path = urlsplit(seen.path)
        query = {name: values[0] for name, values in parse_qs(path.query).items()}
        reply, status = self._reply(seen, path.path, query)
        return Response(json.dumps(reply), status, content_type=JSON)

    def _reply(self, seen: Seen, path: str, query: dict[str, str]) -> tuple[Any, int]:
        asked = (seen.method, *path.strip("/").split("/"))
        answers = {
            ("GET", "datasets"): self._find_dataset,
            ("POST", "datasets"): self._make_dataset,
            ("GET", "examples"): self._list_examples,
            ("POST", "examples", "bulk"): self._put_examples,
            ("PATCH", "examples", "bulk"): self._put_examples,
            ("POST", "sessions"): self._begin,
            ("GET", "sessions"): self._find_sessions,
            ("POST", "runs", "multipart"): self._take_runs,
            ("POST", "feedback"): self._take_feedback,
        }
        if asked[:2] == ("PATCH", "sessions"):
            self.sessions[asked[2]] |= seen.body
            return self.sessions[asked[2]], 200
        if asked not in answers:
            return {"detail": "there is no such path"}, 404
        return answers[asked](seen, query)

    def _find_dataset(self, seen: Seen, query: dict[str, str]) -> tuple[Any, int]:
        id_ = self.datasets.get(query["name"])
        return [] if id_ is None else [{"id": id_, "name": query["name"]}], 200

    def _make_dataset(self, seen: Seen, query: dict[str, str]) -> tuple[Any, int]:
        name = seen.body["name"]
        self.datasets[name] = f"00000000-0000-4000-8000-{len(self.datasets):012}"
        return {"id": self.datasets[name], "name": name}, 200

    def _list_examples(self, seen: Seen, query: dict[str, str]) -> tuple[Any, int]:
        held = [one for one in self.examples.values() if one["dataset_id"] == query["dataset"]]
        start = int(query["offset"])
        return held[start : start + int(query["limit"])], 200

    def _put_examples(self, seen: Seen, query: dict[str, str]) -> tuple[Any, int]:
        self.examples |= {one["id"]: one for one in seen.body}
        return {}, 200

    def _begin(self, seen: Seen, query: dict[str, str]) -> tuple[Any, int]:
        if seen.body["id"] in self.sessions:
            return {"detail": "there is one"}, 409
        self.sessions[seen.body["id"]] = seen.body
        return seen.body, 200

    def _find_sessions(self, seen: Seen, query: dict[str, str]) -> tuple[Any, int]:
        found = [one for one in self.sessions.values() if query["name_contains"] in one["name"]]
        return sorted(found, key=lambda one: one["start_time"], reverse=True), 200

    def _take_runs(self, seen: Seen, query: dict[str, str]) -> tuple[Any, int]:
        for name, one in parts_of(seen):
            (self.runs if name.startswith("post.") else self.feedback)[one["id"]] = one
        return {}, 202

    def _take_feedback(self, seen: Seen, query: dict[str, str]) -> tuple[Any, int]:
        self.feedback[seen.body["id"]] = seen.body
        return {}, 200

    @property
    def log(self) -> str:
        """Everything that it was sent."""
        return "\n".join(seen.text for seen in self.server.seen)

    def said(self, case: str, *, scenario: str | None = None, repeat: int = 1) -> dict[str, Any]:
        """The feedback on a row: the score under each key, or the value where there is one."""
        (run,) = [
            one
            for one in self.runs.values()
            if (about := one["extra"]["metadata"]).get("case") == case
            and (about["repeat"], about.get("scenario")) == (repeat, scenario)
        ]
        return {
            one["key"]: one["score"] if one["value"] is None else one["value"]
            for one in self.feedback.values()
            if one["run_id"] == run["id"]
        }

    def summary(self) -> dict[str, Any]:
        """The feedback on whole experiments, by its key."""
        return {
            one["key"]: (one["score"], one["value"])
            for one in self.feedback.values()
            if one["run_id"] is None
        }

    def children(self, name: str) -> list[dict[str, Any]]:
        """The runs of a name inside of others."""
        return [
            one
            for one in self.runs.values()
            if one["name"] == name and one.get("parent_run_id") is not None
        ]


def parts_of(seen: Seen) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parts of a multipart request, each with its name."""
    builder = EnvironBuilder(
        method="POST", data=seen.raw, content_type=seen.headers["content-type"]
    )
    for name, value in Request(builder.get_environ()).form.items(multi=True):
        yield name, json.loads(value)


def at(project: Project, server: FakeProvider) -> None:
    """Have a project look for LangSmith on this machine."""
    file = project.root / "proctor.toml"
    file.write_text(f'langsmith_url = "{server.url}"\n{file.read_text()}')


def allowed(server: FakeProvider) -> tuple[str, ...]:
    """The options that let results and the key go there."""
    port = server.address.partition(":")[2]
    return (
        *("--driver", "langsmith", "--allow-local", port),
        *("--allow-key", f"LANGSMITH_API_KEY={server.address}"),
    )


def tracker_of(server: FakeProvider, *, patience_s: float = 30.0) -> LangSmith:
    """A tracker that sends content to a server, without a key."""
    endpoint = open_tracker(server.url, HostRules.of([], allow_local=True), where="langsmith_url")
    clock = Clock()
    api = LangSmithApi(endpoint, None, clock=clock, timeout_s=patience_s, max_wait_s=0)
    sending = Sending(project="tests", run="run-1", content=True, patience_s=patience_s)
    return LangSmith(api, sending, clock=clock, note=lambda text: None)


def called(project: Project, *arguments: str) -> int:
    """The exit code of the command line in this process.

    Raises:
        ProctorError: What it would say.
    """
    given = [*arguments, "--cwd", str(project.root)]
    return int(cli.main(args=given, prog_name="proctor", standalone_mode=False) or 0)


@contextmanager
def refused(code: str) -> Iterator[list[ProctorError]]:
    """Expect the command line to refuse something with a code."""
    problems: list[ProctorError] = []
    try:
        yield problems
    except ProctorError as error:
        problems += error.problems()
    assert [one.code for one in problems] == [code]
