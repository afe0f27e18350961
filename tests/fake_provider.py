"""A provider on 127.0.0.1 that speaks the formats of both SDKs and does what a test tells it to."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

WIRE = Path(__file__).parent / "data/wire"
JSON = "application/json"
PATIENCE_S = 60
DRIP_S = 0.01
POLL_S = 0.01

NEW_WORD = "something_new"
CHAT_FINISH = {"refusal": "stop", "other": NEW_WORD}
MESSAGES_FINISH = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "other": NEW_WORD,
}
RESPONSES_INCOMPLETE = {
    "length": "max_output_tokens",
    "content_filter": "content_filter",
    "other": NEW_WORD,
}
ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Wire(StrEnum):
    """A wire format, by the end of the path it is asked at."""

    CHAT = "/chat/completions"
    RESPONSES = "/responses"
    MESSAGES = "/messages"


@dataclass(frozen=True)
class Seen:
    """One request: `path` as it came, with its query; header names in lower case."""

    path: str
    headers: dict[str, str]
    raw: bytes
    remote: socket.socket = field(repr=False)
    method: str = "POST"

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def wire(self) -> Wire:
        """Its format. What is none of them is answered like a chat completion."""
        path = self.path.partition("?")[0]
        return next((wire for wire in Wire if path.endswith(wire)), Wire.CHAT)

    @property
    def text(self) -> str:
        """Everything of it as one text, to look in for what must not be there."""
        head = "".join(f"{name}: {value}\n" for name, value in self.headers.items())
        return f"{self.path}\n{head}\n{self.raw.decode('utf-8', 'replace')}"


Behaviour = Callable[[Seen], Response]


@dataclass(frozen=True)
class Tokens:
    """Figures as they stand on the wire.

    `cached` and `written` are inside `input` in the formats of OpenAI, and beside it in that of
    Anthropic. What is None is not sent.
    """

    input: Any = 412
    output: Any = 58
    cached: Any = None
    written: Any = None


@dataclass(frozen=True)
class Says:
    """A good reply, said in the format it is asked for.

    Args:
        text: None for a reply without text.
        calls: Tool calls, each an id, a name and the arguments: an object, or the raw string.
        finish: A word of `Finish`.
        tokens: None for a reply without usage.
        model: The model that answered.
    """

    text: str | None = "Paris."
    calls: tuple[tuple[str, str, dict[str, Any] | str], ...] = ()
    finish: str = "stop"
    tokens: Tokens | None = Tokens()
    model: str = "fake-1-20261130"

    def __call__(self, seen: Seen) -> Response:
        said = {
            Wire.CHAT: self.chat_body,
            Wire.RESPONSES: self.responses_body,
            Wire.MESSAGES: self.messages_body,
        }[seen.wire]()
        return Response(json.dumps(said), content_type=JSON)

    def any_body(self) -> dict[str, Any]:
        """The reply in all formats at once, with one usage among them."""
        return self.chat_body() | self.responses_body() | self.messages_body()

    def chat_body(self) -> dict[str, Any]:
        """The reply as a chat completion."""
        refused = self.finish == "refusal"
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if refused else self.text,
            "refusal": self.text if refused else None,
        }
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call,
                    "type": "function",
                    "function": {"name": name, "arguments": _string(arguments)},
                }
                for call, name, arguments in self.calls
            ]
        reason = CHAT_FINISH.get(self.finish, self.finish)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        reply: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1796053825,
            "model": self.model,
            "choices": [choice],
        }
        if self.tokens is not None:
            reply["usage"] = {
                "prompt_tokens": self.tokens.input,
                "completion_tokens": self.tokens.output,
                "prompt_tokens_details": _present(
                    cached_tokens=self.tokens.cached, cache_write_tokens=self.tokens.written
                ),
            }
        return reply

    def responses_body(self) -> dict[str, Any]:
        """The reply as a response."""
        output: list[dict[str, Any]] = []
        if self.text is not None:
            part: dict[str, Any] = {"type": "output_text", "text": self.text, "annotations": []}
            if self.finish == "refusal":
                part = {"type": "refusal", "refusal": self.text}
            output.append(
                {
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                }
            )
        output += [
            {
                "id": f"fc_{call}",
                "type": "function_call",
                "call_id": call,
                "name": name,
                "arguments": _string(arguments),
                "status": "completed",
            }
            for call, name, arguments in self.calls
        ]
        incomplete = RESPONSES_INCOMPLETE.get(self.finish)
        reply: dict[str, Any] = {
            "id": "resp_1",
            "object": "response",
            "created_at": 1796053825,
            "model": self.model,
            "status": "incomplete" if incomplete else "completed",
            "incomplete_details": {"reason": incomplete} if incomplete else None,
            "error": None,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
        if self.tokens is not None:
            reply["usage"] = {
                "input_tokens": self.tokens.input,
                "output_tokens": self.tokens.output,
                "input_tokens_details": _present(
                    cached_tokens=self.tokens.cached, cache_write_tokens=self.tokens.written
                ),
            }
        return reply

    def messages_body(self) -> dict[str, Any]:
        """The reply as a message."""
        content: list[dict[str, Any]] = []
        if self.text is not None:
            content.append({"type": "text", "text": self.text})
        content += [
            {"type": "tool_use", "id": call, "name": name, "input": arguments}
            for call, name, arguments in self.calls
        ]
        reply: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": MESSAGES_FINISH.get(self.finish, self.finish),
            "stop_sequence": None,
        }
        if self.tokens is not None:
            reply["usage"] = {
                "input_tokens": self.tokens.input,
                "output_tokens": self.tokens.output,
            } | _present(
                cache_read_input_tokens=self.tokens.cached,
                cache_creation_input_tokens=self.tokens.written,
            )
        return reply


@dataclass(frozen=True)
class Fails:
    """An error in the format it is asked for. `{key}` in the message is the key that came.

    Args:
        status: 200 for an error that only its body tells.
        message: What went wrong.
        kind: The `type` of the error, None for the usual one of the status.
        code: The `code` that OpenAI adds.
        param: The field that OpenAI names.
        headers: More headers.
    """

    status: int
    message: str = "it went wrong"
    kind: str | None = None
    code: str | int | None = None
    param: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, seen: Seen) -> Response:
        key = seen.headers.get("x-api-key") or seen.headers.get("authorization", "")
        said = self.message.replace("{key}", key.removeprefix("Bearer "))
        usual = "invalid_request_error" if self.status < 500 else "api_error"
        kind = self.kind or ERROR_TYPES.get(self.status, usual)
        error: dict[str, Any] = {"type": kind, "message": said}
        body: dict[str, Any] = {"error": error}
        if seen.wire is Wire.MESSAGES:
            body |= {"type": "error", "request_id": "req_1"}
        else:
            error |= {"param": self.param, "code": self.code}
        return Response(json.dumps(body), self.status, self.headers, content_type=JSON)


@dataclass(frozen=True)
class Sends:
    """Exactly this body, whatever was asked."""

    body: bytes | str
    status: int = 200
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, seen: Seen) -> Response:
        return Response(self.body, self.status, self.headers, content_type=self.content_type)


@dataclass(frozen=True)
class Streams:
    """Some chunks that are said to be JSON, without a length before them."""

    chunks: Callable[[], Iterator[bytes]]

    def __call__(self, seen: Seen) -> Response:
        return Response(self.chunks(), content_type=JSON)


def redirects(url: str, status: int = 302) -> Behaviour:
    """Send the client somewhere else."""
    return Sends("", status, headers={"Location": url})


def wire_names() -> list[str]:
    """The replies that were captured from a real server, by name."""
    return sorted(path.stem.partition("-")[2] for path in WIRE.glob("*.json"))


def captured(name: str) -> dict[str, Any]:
    """A captured exchange: `request` with path and body, and `response`."""
    (path,) = WIRE.glob(f"*-{name}.json")
    return json.loads(path.read_bytes())


def replays(name: str) -> Behaviour:
    """A reply that was captured from a real server."""
    reply = captured(name)["response"]
    return Sends(reply["body"], reply["status"], reply["content_type"])


class FakeProvider:
    """The server. It runs inside `with`, at a port of its own, and answers any number at once.

    It does one behaviour after the other; the last one stays. What it was asked is in `seen`.
    """

    def __init__(self, *script: Behaviour) -> None:
        self.seen: list[Seen] = []
        self._script = deque(script or [Says()])
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._server = _QuickServer("127.0.0.1", threaded=True)
        self._server.expect_request(re.compile("")).respond_with_handler(self._answer)

    def __enter__(self) -> FakeProvider:
        self._server.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._server.stop()
        self._server.check()

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._server.port}"

    @property
    def url(self) -> str:
        """Its address without a path."""
        return f"http://{self.address}"

    def does(self, *script: Behaviour) -> FakeProvider:
        """Give it another script."""
        with self._lock:
            self._script = deque(script)
        return self

    @property
    def only(self) -> Seen:
        """The one request it saw."""
        (seen,) = self.seen
        return seen

    def hang(self, seen: Seen) -> Response:
        """Say nothing until the test is over."""
        self._ended.wait(PATIENCE_S)
        return Response("")

    def drip(self, seen: Seen) -> Response:
        """Begin a reply, and go on with a byte at a time until the test is over."""

        def body() -> Iterator[bytes]:
            yield b"{"
            while not self._ended.wait(DRIP_S):
                yield b" "

        return Response(body(), content_type=JSON)

    def drip_head(self, seen: Seen) -> Response:
        """Never finish the headers of a reply, a byte at a time until the test is over."""
        with suppress(ConnectionError):
            seen.remote.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not self._ended.wait(DRIP_S):
                seen.remote.sendall(b"a")
        return Response("")

    def reset(self, seen: Seen) -> Response:
        """Close the connection without a word."""
        with suppress(OSError):
            seen.remote.shutdown(socket.SHUT_RDWR)
        return Response("")

    def break_off(self, seen: Seen) -> Response:
        """Close the connection in the middle of a body."""
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nContent-Length: 1000\r\n\r\n"
        seen.remote.sendall(head.encode("ascii") + b'{"id": ')
        return self.reset(seen)

    def _answer(self, request: Request) -> Response:
        seen = Seen(
            path=request.environ["RAW_URI"],
            headers={name.lower(): value for name, value in request.headers.items()},
            raw=request.get_data(),
            remote=request.environ["werkzeug.socket"],
            method=request.method,
        )
        with self._lock:
            self.seen.append(seen)
            behaviour = self._script.popleft() if len(self._script) > 1 else self._script[0]
        return behaviour(seen)


class _QuickServer(HTTPServer):
    def thread_target(self) -> None:
        assert self.server is not None
        self.server.serve_forever(poll_interval=POLL_S)


def _present(**figures: Any) -> dict[str, Any]:
    return {name: figure for name, figure in figures.items() if figure is not None}


def _string(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
