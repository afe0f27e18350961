"""The requests that LangSmith is sent, by its own SDK through the one way out.

The SDK writes them, and `providers/transport.py` decides what leaves: nothing goes to another
address, no redirect is followed, no header but those it must have is sent, and no variable of the
environment is read. What comes back is read by us.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import ModuleType
from typing import Any, Final
from uuid import UUID

from proctor.clock import Clock
from proctor.errors import ProviderError, TryAgain
from proctor.providers.hosts import Endpoint
from proctor.providers.sdk import NO_TIMEOUT_S, Connection, import_unseeing, make_client
from proctor.providers.wire import HttpReply, refusal, unreachable
from proctor.records import Json, JsonObject, encode_json
from proctor.scrubbing import SECRETS
from proctor.strict_json import JsonProblem, parse_json

PAGE: Final = 100
_MOST_PAGES = 10_000
FIRST_WAIT_S = 0.5
"""How long a request waits before it is made again for the first time, unless more is asked."""


class LangSmithApi:
    """Asks LangSmith.

    Args:
        endpoint: Where it is.
        key: The variable that holds the key, None for a server that gets none.
        clock: Where waiting comes from.
        timeout_s: How long one reply may take.
        max_wait_s: How long one request may wait, in all, to be made again.

    Raises:
        ProviderError: P6301 when its SDK is not installed.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        key: str | None,
        *,
        clock: Clock,
        timeout_s: float,
        max_wait_s: float,
    ) -> None:
        self._sdk: ModuleType = import_unseeing(
            "langsmith", [], needed_by="the driver `langsmith`", extra="langsmith"
        )
        self._base = str(endpoint.url).rstrip("/")
        connection = Connection(
            name="langsmith", endpoint=endpoint, key=key, structured_output="none"
        )
        self._client: Any = make_client(self._sdk, "AsyncLangsmith", connection)
        self._clock = clock
        self._timeout_s = timeout_s
        self._max_wait_s = max_wait_s

    async def dataset(self, name: str) -> UUID:
        """The id of the dataset of this name, which is made when there is none."""
        query: JsonObject = {"name": name, "limit": 1}
        found = _list(await self._ask("GET", "/datasets", query=query))
        if not found:
            body: JsonObject = {"name": name, "data_type": "kv"}
            made = await self._ask("POST", "/datasets", body=body, may_exist=True)
            # Somebody else may have made it in between.
            found = [made] if made else _list(await self._ask("GET", "/datasets", query=query))
        return _id(found[0] if found else None)

    async def examples(self, dataset: UUID) -> AsyncIterator[JsonObject]:
        """Each example of a dataset."""
        for page in range(_MOST_PAGES):
            query: JsonObject = {"dataset": str(dataset), "limit": PAGE, "offset": page * PAGE}
            found = _list(await self._ask("GET", "/examples", query=query))
            for one in found:
                yield _object(one)
            if len(found) < PAGE:
                return

    async def put_examples(self, new: Sequence[Json], changed: Sequence[Json]) -> None:
        """Add examples to their datasets, and change others."""
        if new:
            await self._ask("POST", "/examples/bulk", body=list(new))
        if changed:
            await self._ask("PATCH", "/examples/bulk", body=list(changed))

    async def begin(self, session: UUID, name: str, dataset: UUID, metadata: JsonObject) -> None:
        """Begin an experiment on a dataset; one that is there already goes on."""
        body: JsonObject = {
            "id": str(session),
            "name": name,
            "start_time": self._clock.now().isoformat(),
            "reference_dataset_id": str(dataset),
            "extra": {"metadata": metadata},
        }
        await self._ask("POST", "/sessions", body=body, may_exist=True)

    async def end(self, session: UUID, metadata: JsonObject) -> None:
        """Say that all rows of an experiment have been sent."""
        body: JsonObject = {
            "end_time": self._clock.now().isoformat(),
            "extra": {"metadata": metadata},
        }
        await self._ask("PATCH", f"/sessions/{session}", body=body)

    async def send(self, parts: Sequence[tuple[str, JsonObject]]) -> None:
        """Send runs (`post`), and what is said of them (`feedback`), in one request."""
        files = [(f"{kind}.{one['id']}", _part(_bytes(one))) for kind, one in parts]
        await self._ask("POST", "/runs/multipart", files=files, may_exist=True)

    async def summarize(self, feedback: JsonObject) -> None:
        """Say something of a whole experiment."""
        await self._ask("POST", "/feedback", body=feedback, may_exist=True)

    async def sessions(self, prefix: str) -> Sequence[JsonObject]:
        """The newest experiments whose name begins so, newest first."""
        query: JsonObject = {
            "name_contains": prefix,
            "reference_free": "false",
            "sort_by": "start_time",
            "sort_by_desc": "true",
            "limit": PAGE,
        }
        found = map(_object, _list(await self._ask("GET", "/sessions", query=query)))
        return [one for one in found if str(one.get("name")).startswith(prefix)]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _ask(self, method: str, path: str, **more: Any) -> Json:  # noqa: ANN401 - of `_once`
        """What is replied to a request, which is made again when that makes sense.

        Raises:
            ProviderError: When there was no reply, or none that can be used.
        """
        waited_s, next_s = 0.0, FIRST_WAIT_S
        while True:
            try:
                return await self._once(method, path, **more)
            except TryAgain as error:
                wait_s = max(next_s, error.wait_s or 0.0)
                if waited_s + wait_s > self._max_wait_s:
                    raise _about_langsmith(error) from None
            except ProviderError as error:
                raise _about_langsmith(error) from None
            await self._clock.sleep(wait_s)
            waited_s, next_s = waited_s + wait_s, 2 * next_s

    async def _once(
        self,
        method: str,
        path: str,
        *,
        query: JsonObject | None = None,
        body: Json = None,
        files: Sequence[object] | None = None,
        may_exist: bool = False,
    ) -> Json:
        called = f"{method} {self._base}{path}"
        try:
            async with asyncio.timeout(self._timeout_s):
                reply = await self._reply(called, method, path, query, body, files)
        except TimeoutError:
            detail = TimeoutError(f"none within {self._timeout_s:g} s")
            raise unreachable(called, detail, free=False) from None
        if reply.status == 409 and may_exist:
            return None
        if not 200 <= reply.status < 300:
            raise refusal(reply, now=self._clock.now())
        try:
            return parse_json(reply.body) if reply.body else None
        except JsonProblem as problem:
            raise _strange(f"a body that {problem.detail}") from None

    async def _reply(
        self,
        called: str,
        method: str,
        path: str,
        query: JsonObject | None,
        body: Json,
        files: Sequence[object] | None,
    ) -> HttpReply:
        import httpx2

        options: dict[str, Any] = {"timeout": NO_TIMEOUT_S}
        if query is not None:
            options["params"] = query
        sent: dict[str, Any] = {}
        if files is not None:
            sent["files"] = files
            # The SDK takes it away again, so that the boundary can be added.
            options["headers"] = {"Content-Type": "multipart/form-data"}
        elif body is not None:
            sent["content"] = _bytes(body)
            options["headers"] = {"Content-Type": "application/json"}
        ask = getattr(self._client, method.lower())
        try:
            response = await ask(path, cast_to=httpx2.Response, options=options, **sent)
        except self._sdk.APIStatusError as error:
            response = error.response
        except self._sdk.APIConnectionError as error:
            cause = error.__cause__
            if isinstance(cause, ProviderError):
                raise cause from None
            problem = cause if isinstance(cause, Exception) else error
            raise unreachable(called, problem, free=False) from None
        headers = {name.lower(): value for name, value in response.headers.items()}
        return HttpReply(called, response.status_code, headers, response.content)


def _part(data: bytes) -> tuple[None, bytes, str, dict[str, str]]:
    return None, data, "application/json", {"Content-Length": str(len(data))}


def _bytes(body: Json) -> bytes:
    return SECRETS.scrub_bytes(encode_json(body))


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise _strange("no list")
    return value


def _object(value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise _strange("no object")
    return value


def _about_langsmith(error: ProviderError) -> ProviderError:
    """The error with what to do about it here: it says what to do about a model."""
    hint = "check that `langsmith_url` is the address of its API, or try it again later"
    if error.code == "P6308":
        hint = "check the key, and that it is one of this LangSmith"
    return ProviderError(error.message, code=error.code, hint=hint)


def _strange(what: str) -> ProviderError:
    return ProviderError(
        f"LangSmith replied with {what}",
        code="P6312",
        hint="check that `langsmith_url` is the address of its API",
    )


def _id(value: Json) -> UUID:
    try:
        return UUID(str(_object(value).get("id")))
    except ValueError:
        raise _strange("an id that is none") from None
