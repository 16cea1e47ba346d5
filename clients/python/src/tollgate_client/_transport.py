"""
Sends requests to the sidecar, in threads and in event loops. It follows no redirect, uses no proxy, and returns an
answer only if it has arrived whole and in time. Everything else raises `NoAnswer`.

States: the connections of a process are made with the transport. A forked child makes its own with its first request.
An event loop gets its own connections with its first request in it. After `close` every request raises `NoAnswer`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from ._address import Address

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """
    `timeout_s`: until the answer has arrived whole. `bytes_max`: the largest answer.
    `is_held`: the sidecar may hold it until a person has answered.
    """

    method: str
    path: str
    body: bytes | None
    timeout_s: float
    bytes_max: int
    headers: Mapping[str, str]
    is_held: bool = False


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes


class NoAnswer(Exception):
    """There is no answer. The message says why, for people."""


Flow = Generator[Request, Answer, T]
"""Code that needs answers, written once for threads and event loops: it yields requests, and is sent their answers."""


class Abort:
    """
    Ends the waiting of a call for a person, from another thread: the connection is closed, and the call raises
    `ToolDenied` with the kind `aborted`. In an event loop, cancel the task instead.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_set = False
        self._sockets: set[socket.socket] = set()

    @property
    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        with self._lock:
            self._is_set = True
            for held in self._sockets:
                with contextlib.suppress(OSError):
                    held.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _holding(self) -> Generator[Callable[[str, Mapping[str, Any]], None]]:
        """Yields a tracer for `httpcore`, which tells of each socket that is connected."""
        mine: list[socket.socket] = []

        def trace(event: str, details: Mapping[str, Any]) -> None:
            if event not in ("connection.connect_tcp.complete", "connection.connect_unix_socket.complete"):
                return
            connected: socket.socket = details["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets.add(connected)
                mine.append(connected)
                if self._is_set:
                    connected.shutdown(socket.SHUT_RDWR)

        try:
            yield trace
        finally:
            with self._lock:
                self._sockets.difference_update(mine)


class Transport:
    def __init__(self, address: Address, key: str, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._address = address
        self._headers = {
            "authorization": f"Bearer {key}",
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
        }
        self._is_closed = False
        self._held = _Connections(address)

    def send(self, request: Request, abort: Abort | None = None) -> Answer:
        """Sends a request and waits for its answer, in this thread. Raises `NoAnswer`."""
        with self._explained(request, abort):
            if abort is None or not request.is_held:
                return self._exchange(self._connections().client, request, {})
            # The socket is closed if the wait is aborted, so it carries no other request.
            with abort._holding() as trace, _client(self._address) as client:  # pyright: ignore[reportPrivateUsage]
                return self._exchange(client, request, {"trace": trace})

    def _exchange(self, client: httpx.Client, request: Request, extensions: dict[str, Any]) -> Answer:
        deadline = time.monotonic() + request.timeout_s
        with client.stream(**self._call(request), extensions=extensions) as response:
            parts = _Body(response, request)
            for chunk in response.iter_raw():
                parts.add(chunk)
                if time.monotonic() > deadline:
                    raise NoAnswer(_late(request))
            return Answer(response.status_code, parts.whole())

    async def send_async(self, request: Request) -> Answer:
        """Sends a request from an event loop. Raises `NoAnswer`. If the task is cancelled, the connection is closed."""
        with self._explained(request):
            client = await self._connections().in_loop(asyncio.get_running_loop())
            return await asyncio.wait_for(self._exchange_async(client, request), request.timeout_s)

    async def _exchange_async(self, client: httpx.AsyncClient, request: Request) -> Answer:
        async with client.stream(**self._call(request)) as response:
            parts = _Body(response, request)
            async for chunk in response.aiter_raw():
                parts.add(chunk)
            return Answer(response.status_code, parts.whole())

    def _call(self, request: Request) -> dict[str, Any]:
        seconds = request.timeout_s
        return {
            "method": request.method,
            "url": f"{self._address.base}{request.path}",
            "content": request.body,
            "headers": {**self._headers, **request.headers},
            "timeout": httpx.Timeout(seconds, connect=min(seconds, _connect_s)),
        }

    @contextlib.contextmanager
    def _explained(self, request: Request, abort: Abort | None = None) -> Generator[None]:
        """Makes a `NoAnswer` of every error of a request. Its cause is left out: it may show headers."""
        if self._is_closed:
            raise NoAnswer("the gate is closed")
        try:
            yield
            return
        except NoAnswer:
            raise
        except (httpx.TimeoutException, asyncio.TimeoutError):
            words = _late(request)
        except httpx.ConnectError as error:
            words = f"nothing answers at {self._address.shown} ({error})"
        except Exception as error:
            words = f"the connection to {self._address.shown} failed ({type(error).__name__})"
        raise NoAnswer("the wait was aborted" if abort is not None and abort.is_set else words)

    def _connections(self) -> _Connections:
        held = self._held
        if held.pid != os.getpid():
            held = self._held = _Connections(self._address)
        return held

    def close(self) -> None:
        self._is_closed = True
        self._connections().client.close()

    async def aclose(self) -> None:
        """Closes what `close` does, and the connections of this event loop."""
        self.close()
        await self._connections().close_in(asyncio.get_running_loop())


class _Connections:
    """The connections of one process."""

    def __init__(self, address: Address) -> None:
        self.pid = os.getpid()
        self.client = _client(address)
        self._address = address
        self._lock = threading.Lock()
        self._in_loops: dict[asyncio.AbstractEventLoop, _InLoop] = {}

    async def in_loop(self, loop: asyncio.AbstractEventLoop) -> httpx.AsyncClient:
        known = self._in_loops.get(loop)
        if known is not None:
            return known.client
        transport = httpx.AsyncHTTPTransport(**_settings(self._address))
        client = httpx.AsyncClient(transport=transport, trust_env=False)
        with self._lock:
            # A loop that ended without `asyncio.run` has not closed its connections.
            for closed in [one for one in self._in_loops if one.is_closed()]:
                del self._in_loops[closed]
            made = self._in_loops[loop] = _InLoop(client, self._closed_with(loop, client))
        # An event loop finishes the async generators that were begun in it, when it ends.
        await anext(made.keeper)
        return client

    async def _closed_with(self, loop: asyncio.AbstractEventLoop, client: httpx.AsyncClient) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            self._in_loops.pop(loop, None)
            await client.aclose()

    async def close_in(self, loop: asyncio.AbstractEventLoop) -> None:
        known = self._in_loops.get(loop)
        if known is not None:
            await known.keeper.aclose()


@dataclass(frozen=True)
class _InLoop:
    """The connections of an event loop. `keeper` closes them when the loop ends."""

    client: httpx.AsyncClient
    keeper: AsyncGenerator[None]


def _client(address: Address) -> httpx.Client:
    return httpx.Client(transport=httpx.HTTPTransport(**_settings(address)), trust_env=False)


def _settings(address: Address) -> dict[str, Any]:
    return {
        # To load the authorities takes time, and http needs none.
        "verify": address.base.startswith("https:"),
        "trust_env": False,
        "uds": address.socket,
        "limits": httpx.Limits(max_connections=1_000, max_keepalive_connections=20, keepalive_expiry=_idle_s),
    }


_connect_s = 2.0
# Shorter than what any sidecar keeps an idle connection, so that a request does not meet one that is being closed.
_idle_s = 30.0


def _late(request: Request) -> str:
    return f"there was no whole answer within {request.timeout_s:g} s"


class _Body:
    def __init__(self, response: httpx.Response, request: Request) -> None:
        if response.headers.get("content-encoding") not in (None, "identity"):
            raise NoAnswer("the answer is compressed, which was not asked for")
        self._parts = bytearray()
        self._max = request.bytes_max

    def add(self, chunk: bytes) -> None:
        self._parts += chunk
        if len(self._parts) > self._max:
            raise NoAnswer(f"the answer has more than {self._max} bytes")

    def whole(self) -> bytes:
        return bytes(self._parts)


def drive(flow: Flow[T], send: Callable[[Request], Answer]) -> T:
    """Runs a flow in this thread."""
    try:
        request = next(flow)
        while True:
            try:
                answer = send(request)
            except NoAnswer as error:
                request = flow.throw(error)
            else:
                request = flow.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


async def drive_async(flow: Flow[T], send: Callable[[Request], Awaitable[Answer]]) -> T:
    """Runs a flow in an event loop."""
    try:
        request = next(flow)
        while True:
            try:
                answer = await send(request)
            except NoAnswer as error:
                request = flow.throw(error)
            else:
                request = flow.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result
