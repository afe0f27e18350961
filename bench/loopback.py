"""A server on loopback that speaks OpenAI's Chat Completions and answers from the data.

Usage: python bench/loopback.py DATA PORT LATENCY_MS

Each answer takes so long. The server does as little as it can, so that what is measured is the
client. It prints a line once it listens, and runs until it is killed.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)

data, port, latency_s = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1_000


def replies() -> dict[str, bytes]:
    """The whole HTTP reply to each question."""
    found = {}
    with data.open("rb") as lines:
        for line in lines:
            case = json.loads(line)
            body = json.dumps(_completion(case["output"])).encode()
            head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: "
            found[case["inputs"]["question"]] = f"{head}{len(body)}\r\n\r\n".encode() + body
    return found


def _completion(text: str) -> dict[str, object]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "canned",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 60, "total_tokens": 110},
    }


REPLIES = replies()


class Connection(asyncio.Protocol):
    """One connection, on which one request follows the reply to another."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        """Answer once a request is whole."""
        self.received += data
        head, separator, body = self.received.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if separator and length and len(body) >= int(length.group(1)):
            self.received = b""
            question = json.loads(body)["messages"][-1]["content"]
            asyncio.get_running_loop().call_later(
                latency_s, self.transport.write, REPLIES[question]
            )


async def main() -> None:
    """Listen for ever."""
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port)
    print("listening", flush=True)
    await server.serve_forever()


asyncio.run(main())
