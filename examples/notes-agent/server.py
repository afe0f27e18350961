"""A lane of the example: a server that keeps notebooks and runs workflows on them.

    python server.py 9001

It needs nothing but Python, answers on this machine only, and forgets everything when it ends.
"""

from __future__ import annotations

import json
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

_LONGEST = 1_000_000


class Refused(Exception):
    """A request that is not carried out, with the status that says so."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Store:
    """Notebooks, which are lists of `{text, tags}`, and workflows, which are lists of steps."""

    def __init__(self) -> None:
        self.notebooks: dict[str, list[dict[str, Any]]] = {}
        self.workflows: dict[str, list[dict[str, Any]]] = {}

    def run(self, workflow: str, notebook: str, inputs: dict[str, str]) -> dict[str, Any]:
        """Take the steps of a workflow in a notebook.

        Returns:
            `found`, the texts that the last step looked for, and `notes`, the notebook afterwards.
        """
        if workflow not in self.workflows:
            raise Refused(HTTPStatus.NOT_FOUND, f"there is no workflow {workflow}")
        notes = self.notebooks.setdefault(notebook, [])
        found: list[str] = []
        for step in self.workflows[workflow]:
            given = {key: _filled(value, inputs) for key, value in step.items()}
            if given["do"] == "save":
                notes.append({"text": given["text"], "tags": list(given["tags"])})
                continue
            fitting = [note for note in notes if _fits(note, given)]
            if given["do"] == "tag":
                for note in fitting:
                    note["tags"].append(given["as"])
            elif given["do"] == "delete":
                notes[:] = [note for note in notes if note not in fitting]
            found = [note["text"] for note in fitting]
        return {"found": found, "notes": notes}


def _filled(value: Any, inputs: dict[str, str]) -> Any:  # noqa: ANN401 - any part of a step
    """The input that `$name` stands for, and everything else as it is."""
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    if value[1:] not in inputs:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"the workflow needs {value[1:]}")
    return inputs[value[1:]]


def _fits(note: dict[str, Any], step: dict[str, Any]) -> bool:
    if "tagged" in step:
        return step["tagged"] in note["tags"]
    return step["words"].casefold() in note["text"].casefold()


class Handler(BaseHTTPRequestHandler):
    """Reads one request after the other.

    | request | what it does |
    |---|---|
    | `GET /health` | says that the lane is well |
    | `PUT /notebooks/NAME` | puts these notes in place of those it has |
    | `PUT /workflows/NAME` | keeps a workflow |
    | `POST /workflows/NAME` | runs it: `{notebook, inputs}` |
    | `DELETE /workflows/NAME` | forgets it |
    """

    protocol_version = "HTTP/1.1"
    store = Store()
    lock = Lock()

    def do_GET(self) -> None:
        """Answer whoever asks whether the lane is well."""
        self._reply(HTTPStatus.OK, {"well": True})

    def do_PUT(self) -> None:
        """Keep a notebook or a workflow."""
        self._answer()

    def do_POST(self) -> None:
        """Run a workflow."""
        self._answer()

    def do_DELETE(self) -> None:
        """Forget a workflow."""
        self._answer()

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""

    def _answer(self) -> None:
        length = min(int(self.headers.get("Content-Length", 0)), _LONGEST)
        sent = self.rfile.read(length)
        try:
            # One at a time: what a workflow does in a notebook is done as a whole.
            with self.lock:
                reply = self._carry_out(json.loads(sent) if sent else None)
        except Refused as refused:
            self._reply(refused.status, {"error": str(refused)})
        else:
            self._reply(HTTPStatus.OK, reply)

    def _carry_out(self, body: Any) -> Any:  # noqa: ANN401 - whatever was sent, and what is said
        _, kind, name = (self.path + "//").split("/")[:3]
        if (self.command, kind) == ("PUT", "notebooks"):
            self.store.notebooks[name] = body
        elif (self.command, kind) == ("PUT", "workflows"):
            self.store.workflows[name] = body
        elif (self.command, kind) == ("POST", "workflows"):
            return self.store.run(name, body["notebook"], body["inputs"])
        elif (self.command, kind) == ("DELETE", "workflows"):
            self.store.workflows.pop(name, None)
        else:
            raise Refused(HTTPStatus.NOT_FOUND, "there is nothing like that here")
        return {}

    def _reply(self, status: HTTPStatus, body: Any) -> None:  # noqa: ANN401 - any JSON
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    """Serve until somebody ends it."""
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    sys.stdout.write(f"lane at http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
