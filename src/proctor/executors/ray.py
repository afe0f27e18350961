"""Workers on a Ray cluster, which is given by its address or started on this machine."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Final

from proctor.errors import ProviderError, UsageError
from proctor.executors.workers import WorkerGone

if TYPE_CHECKING:
    from concurrent.futures import Future

REACH_S: Final = 10.0
"""How long it may take to find somebody at the address of a cluster."""
MOST_WORKERS: Final = 64
"""How many workers there are at most, unless somebody says how many there are to be."""
STORE_BYTES: Final = 80 * 2**20
"""The object store of a cluster of our own. Calls and replies are small and never in it."""


class RayWorker:
    """A `Worker` that is an actor.

    Args:
        ray: The library.
        actor: The actor.
    """

    def __init__(self, ray: Any, actor: Any) -> None:  # noqa: ANN401 - Ray has no types
        self._ray = ray
        self._actor = actor

    async def give(self, batch: bytes) -> None:
        """Hand over calls."""
        await self._told(self._actor.give.remote(batch))

    async def hear(self) -> bytes:
        """What came of calls since this was asked last."""
        return await self._told(self._actor.hear.remote())

    async def begin(self, job: bytes) -> bytes:
        """Have it get ready; what it says to that."""
        return await self._told(self._actor.begin.remote(job))

    def end(self) -> None:
        """End it, whatever it does."""
        try:
            self._ray.kill(self._actor, no_restart=True)
        except (self._ray.exceptions.RayError, ConnectionError, ValueError):
            # It has ended already, or the cluster has.
            return

    async def _told(self, said: Any) -> bytes:  # noqa: ANN401 - Ray has no types
        """What comes back of a call of the actor. Nothing of Ray's is cancelled with it."""
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[bytes] = loop.create_future()

        def take(done: Future[bytes]) -> None:
            # At the end of a run nobody listens, and the loop may be closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_pass_on, done, heard)

        try:
            said.future().add_done_callback(take)
            return await heard
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise WorkerGone(type(error).__name__) from error


def _pass_on(done: Future[bytes], heard: asyncio.Future[bytes]) -> None:
    if heard.cancelled():
        return
    error = done.exception()
    if error is None:
        heard.set_result(done.result())
    else:
        heard.set_exception(error)


class RayCluster:
    """A `Cluster` on Ray.

    Args:
        worker: The class of the workers, which take and return bytes.
        job: What each of them begins with.
        accept: Looks at what a worker says to that; raises when it cannot be used.
    """

    def __init__(self, worker: type, job: bytes, accept: Callable[[bytes], object]) -> None:
        self._worker = worker
        self._job = job
        self._accept = accept
        self._ray: Any = None
        self._folder: str | None = None

    def start(self, address: str | None, workers: int | None) -> list[RayWorker]:
        """Go to a cluster, or start one here, and begin the workers.

        Args:
            address: The cluster; None to start one that only this machine can reach.
            workers: How many; None for one for each processor.

        Raises:
            UsageError: P6002 for what is no address.
            ProviderError: P6301 when Ray is not installed, or the cluster cannot be used.
            ProctorError: What keeps a worker from getting ready.
        """
        if address is not None:
            _require_reachable(address)
        ray = self._ray = _import_ray(is_local=address is None)
        failures = (ray.exceptions.RayError, ConnectionError, OSError, RuntimeError, ValueError)
        try:
            if address is None:
                self._start_here(workers)
            else:
                ray.init(address, log_to_driver=False, logging_level="ERROR")
            if workers is None:
                workers = int(ray.cluster_resources().get("CPU", 1))
                workers = max(1, min(workers, MOST_WORKERS))
            actors = [self._actor() for _ in range(workers)]
            said = ray.get([actor.begin.remote(self._job) for actor in actors])
        except failures as error:
            self.close()
            raise _unusable(address, error) from error
        try:
            for one in said:
                self._accept(one)
        except BaseException:
            self.close()
            raise
        return [RayWorker(ray, actor) for actor in actors]

    async def replace(self) -> RayWorker:
        """Another worker in place of one that was lost."""
        try:
            worker = RayWorker(self._ray, self._actor())
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise WorkerGone(type(error).__name__) from error
        self._accept(await worker.begin(self._job))
        return worker

    def close(self) -> None:
        """End what was begun here, and leave the cluster."""
        if self._ray is not None:
            self._ray.shutdown()
            self._ray = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _start_here(self, workers: int | None) -> None:
        self._folder = mkdtemp(prefix="proctor-")
        self._ray.init(
            address="local",
            num_cpus=workers or os.cpu_count() or 1,
            include_dashboard=False,
            object_store_memory=STORE_BYTES,
            log_to_driver=False,
            logging_level="ERROR",
            _temp_dir=self._folder,
        )

    def _actor(self) -> Any:  # noqa: ANN401 - Ray has no types
        # Workers mostly wait, so they need no processor of their own.
        options = {"num_cpus": 0, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        return self._ray.remote(self._worker).options(**options).remote()


def _require_reachable(address: str) -> None:
    """See that somebody listens at an address; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise UsageError(
            f"`--address {address}` is no address of a Ray cluster",
            code="P6002",
            hint="write it as `ray://HOST:PORT`, or as `HOST:PORT` on a machine of the cluster",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_S).close()
    except OSError as error:
        raise _unusable(address, error) from error


def _import_ray(*, is_local: bool) -> Any:  # noqa: ANN401 - Ray has no types
    # Ray looks at its variables while it is imported and started, and hands them to its processes.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if is_local:
        # This keeps Linux to the loopback address as well.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = _token()
    try:
        import ray
    except ImportError as error:
        raise ProviderError(
            f"`--engine ray` needs `{error.name}`, which is not installed",
            code="P6301",
            hint="install it with `pip install 'proctor[ray]'`",
        ) from error
    return ray


@cache
def _token() -> str:
    """What a cluster of our own asks of everybody; Ray keeps the first it sees."""
    return secrets.token_hex(32)


def _unusable(address: str | None, error: Exception) -> ProviderError:
    said = str(error).strip().partition("\n")[0][:200]
    if address is None:
        return ProviderError(
            f"Ray cannot be started on this machine: {said}",
            code="P6301",
            hint="run it with `--engine local`",
        )
    return ProviderError(
        f"the Ray cluster `{address}` cannot be used: {said}",
        code="P6301",
        hint="see that it runs, that its token is set here, and that Proctor is installed on each "
        "machine of it",
    )
