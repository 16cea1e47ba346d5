"""
Sends requests to the sidecar, in threads and in event loops. It follows no redirect, uses no proxy, and returns an
answer only if it has arrived whole and in time. Everything else raises `NoAnswer`.

States: a connection that has had a whole answer and nothing more is kept for the next request, of whatever thread or
event loop. If a request fails or is cancelled, its connection is closed. A forked child keeps connections of its own.
After `close` every request raises `NoAnswer`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Iterable
from typing import Any, TypeVar
from urllib.parse import urlsplit

import anyio

from ._address import Address
from ._connection import Answer, Connection, NoAnswer, Request, Tls, receive_bytes

S = TypeVar("S")
R = TypeVar("R")
T = TypeVar("T")

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
                _shut_down(held)

    @contextlib.contextmanager
    def _holding(self, held: socket.socket) -> Generator[None]:
        with self._lock:
            self._sockets.add(held)
            if self._is_set:
                _shut_down(held)
        try:
            yield
        finally:
            with self._lock:
                self._sockets.discard(held)


def _shut_down(held: socket.socket) -> None:
    with contextlib.suppress(OSError):
        held.shutdown(socket.SHUT_RDWR)


class Transport:
    def __init__(self, address: Address, key: str, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._address = address
        parts = urlsplit(address.base)
        self._named = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        self._places = _known_places(address, *self._named)
        self._headers = {
            "host": parts.netloc,
            "authorization": f"Bearer {key}",
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
        }
        # To load the authorities takes time, and http needs none.
        self._authorities = ssl.create_default_context() if parts.scheme == "https" else None
        self._is_closed = False
        self._kept = _Kept()

    def send(self, request: Request, abort: Abort | None = None) -> Answer:
        """Sends a request and waits for its answer, in this thread. Raises `NoAnswer`."""
        deadline = time.monotonic() + request.timeout_s
        with self._explained(request, abort):
            connection = self._kept_here().take() or self._connect(deadline)
            with self._used(connection), contextlib.ExitStack() as stack:
                if abort is not None and request.is_held:
                    stack.enter_context(abort._holding(connection.socket))  # pyright: ignore[reportPrivateUsage]
                transfer = functools.partial(_transfer, connection.socket, deadline)
                return drive(connection.exchange(request, self._headers), transfer)

    async def send_async(self, request: Request) -> Answer:
        """Sends a request from an event loop. Raises `NoAnswer`. If the task is cancelled, the connection is closed."""
        # Not `asyncio.wait_for`, which loses a cancellation before Python 3.12.
        with self._explained(request), anyio.fail_after(request.timeout_s):
            connection = self._kept_here().take() or await self._connect_async()
            with self._used(connection):
                transfer = functools.partial(_transfer_async, connection.socket)
                return await drive_async(connection.exchange(request, self._headers), transfer)

    @contextlib.contextmanager
    def _used(self, connection: Connection) -> Generator[None]:
        """Keeps the connection after a whole answer, and closes it after everything else."""
        try:
            yield
        except BaseException:
            connection.close()
            raise
        if connection.renew():
            self._kept_here().put(connection)
        else:
            connection.close()

    def _connect(self, deadline: float) -> Connection:
        failure = OSError("its name has no address")
        # The system resolves a name in its own time: in a thread that cannot be interrupted.
        for family, place in self._places or _places_in(socket.getaddrinfo(*self._named, type=socket.SOCK_STREAM)):
            try:
                with _opened(family) as one:
                    one.settimeout(min(_connect_s, _left_s(deadline)))
                    one.connect(place)
                    return self._connected(one)
            except OSError as error:
                failure = error
        raise self._absent(failure)

    async def _connect_async(self) -> Connection:
        loop = asyncio.get_running_loop()
        failure = OSError("its name has no address")
        for family, place in self._places or _places_in(await loop.getaddrinfo(*self._named, type=socket.SOCK_STREAM)):
            try:
                with _opened(family) as one:
                    one.setblocking(False)
                    with anyio.fail_after(_connect_s):
                        await loop.sock_connect(one, place)
                    return self._connected(one)
            except OSError as error:
                failure = error
        raise self._absent(failure)

    def _connected(self, one: socket.socket) -> Connection:
        if one.family != socket.AF_UNIX:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Connection(one, None if self._authorities is None else Tls(self._authorities, self._named[0]))

    def _absent(self, failure: OSError) -> NoAnswer:
        return NoAnswer(f"nothing answers at {self._address.shown} ({failure})")

    @contextlib.contextmanager
    def _explained(self, request: Request, abort: Abort | None = None) -> Generator[None]:
        """Makes a `NoAnswer` of every error of a request. Its cause is left out: it may show headers."""
        if self._is_closed:
            raise NoAnswer("the gate is closed")
        try:
            yield
            return
        except NoAnswer as error:
            words = str(error)
        except TimeoutError:
            words = f"there was no whole answer within {request.timeout_s:g} s"
        except Exception as error:
            words = f"the connection to {self._address.shown} failed ({type(error).__name__})"
        raise NoAnswer("the wait was aborted" if abort is not None and abort.is_set else words)

    def _kept_here(self) -> _Kept:
        kept = self._kept
        if kept.pid != os.getpid():
            kept = self._kept = _Kept()
        return kept

    def close(self) -> None:
        self._is_closed = True
        self._kept_here().close()


class _Kept:
    """The idle connections of one process, the one that was used last at the end."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._lock = threading.Lock()
        self._is_closed = False
        self._idle: list[tuple[float, Connection]] = []

    def take(self) -> Connection | None:
        """Returns a connection on which nothing has arrived since its last answer."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                since, connection = self._idle.pop()
            if time.monotonic() - since < _idle_s and connection.is_quiet():
                return connection
            connection.close()

    def put(self, connection: Connection) -> None:
        now = time.monotonic()
        with self._lock:
            self._idle.append((now, connection))
            while self._idle and (self._is_closed or len(self._idle) > _idle_max or now - self._idle[0][0] > _idle_s):
                self._idle.pop(0)[1].close()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            while self._idle:
                self._idle.pop()[1].close()

    def __del__(self) -> None:
        # Of a gate that was not closed. Without the lock, which another thread may have held when a child was forked.
        for _, connection in self._idle:
            connection.close()


_connect_s = 2.0
# Shorter than what any sidecar keeps an idle connection, so that a request does not meet one that is being closed.
_idle_s = 30.0
_idle_max = 20

_Place = tuple[int, Any]
"""The family of a socket, and the address for its `connect`."""


def _known_places(address: Address, host: str, port: int) -> list[_Place] | None:
    """Returns the places of a path or of a number. None: the system must resolve a name."""
    if address.socket is not None:
        return [(socket.AF_UNIX, address.socket)]
    try:
        return _places_in(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST))
    except socket.gaierror:
        return None


def _places_in(found: Iterable[tuple[Any, ...]]) -> list[_Place]:
    """Reads what `getaddrinfo` returns."""
    return [(family, place) for family, _, _, _, place in found]


@contextlib.contextmanager
def _opened(family: int) -> Generator[socket.socket]:
    """Yields a new socket, and closes it if the block raises."""
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        yield one
    except BaseException:
        one.close()
        raise


def _left_s(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _transfer(connected: socket.socket, deadline: float, data: bytes | None) -> bytes:
    """Takes one step of a connection in this thread."""
    connected.settimeout(_left_s(deadline))
    if data is None:
        return connected.recv(receive_bytes)
    connected.sendall(data)
    return b""


async def _transfer_async(connected: socket.socket, data: bytes | None) -> bytes:
    loop = asyncio.get_running_loop()
    if data is None:
        return await loop.sock_recv(connected, receive_bytes)
    await loop.sock_sendall(connected, data)
    return b""


def drive(flow: Generator[S, R, T], take: Callable[[S], R]) -> T:
    """Runs a flow in this thread: `take` does what it yields."""
    try:
        step = next(flow)
        while True:
            try:
                result = take(step)
            except NoAnswer as error:
                step = flow.throw(error)
            else:
                step = flow.send(result)
    except StopIteration as end:
        ended: T = end.value
        return ended


async def drive_async(flow: Generator[S, R, T], take: Callable[[S], Awaitable[R]]) -> T:
    """Runs a flow in an event loop."""
    try:
        step = next(flow)
        while True:
            try:
                result = await take(step)
            except NoAnswer as error:
                step = flow.throw(error)
            else:
                step = flow.send(result)
    except StopIteration as end:
        ended: T = end.value
        return ended
