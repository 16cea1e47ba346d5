"""
One connection to the sidecar: HTTP and TLS without input and output, so that threads and event loops share it. Its
steps are a generator, which yields bytes to send, or None to receive some, and is sent what was received.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import h11

T = TypeVar("T")

Steps = Generator["bytes | None", bytes, T]

receive_bytes = 64 * 1024


@dataclass(frozen=True)
class Request:
    """
    `timeout_s`: until the answer has arrived whole. `bytes_max`: the most that is received for it.
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


class Connection:
    """`socket` is connected, and for this connection alone. `tls`: None is plain text."""

    def __init__(self, connected: socket.socket, tls: Tls | None) -> None:
        self.socket = connected
        self._tls = tls
        self._http = h11.Connection(h11.CLIENT)

    def exchange(self, request: Request, headers: Mapping[str, str]) -> Steps[Answer]:
        """Sends a request and ends with its answer. Raises `NoAnswer`, or the errors of `h11` and `ssl`."""
        body = request.body or b""
        fields = [*headers.items(), *request.headers.items(), ("content-length", str(len(body)))]
        start = h11.Request(method=request.method, target=request.path, headers=fields)
        parts = [self._http.send(part) or b"" for part in (start, h11.Data(data=body), h11.EndOfMessage())]
        yield from self._write(b"".join(parts))
        status, answered, received = 0, bytearray(), 0
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                data = yield from self._read()
                received += len(data)
                if received > request.bytes_max:
                    raise NoAnswer(f"the answer has more than {request.bytes_max} bytes")
                self._http.receive_data(data)
            elif isinstance(event, h11.Response):
                if any(name == b"content-encoding" and value != b"identity" for name, value in event.headers):
                    raise NoAnswer("the answer is compressed, which was not asked for")
                status = event.status_code
            elif isinstance(event, h11.Data):
                answered += event.data
            elif isinstance(event, h11.EndOfMessage):
                return Answer(status, bytes(answered))
            elif not isinstance(event, h11.InformationalResponse):
                raise NoAnswer("the connection was closed")

    def renew(self) -> bool:
        """Prepares the connection for another request. False: it cannot have one, or the server has sent more."""
        left, _ = self._http.trailing_data
        if left or (self._tls is not None and self._tls.has_more()):
            return False
        try:
            self._http.start_next_cycle()
        except h11.LocalProtocolError:
            return False
        self.socket.setblocking(False)
        return True

    def is_quiet(self) -> bool:
        """Whether nothing has arrived since the last answer, and the server has not closed the connection."""
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()

    def _write(self, data: bytes) -> Steps[None]:
        if self._tls is None:
            yield data
        else:
            yield from self._tls.write(data)

    def _read(self) -> Steps[bytes]:
        return (yield None) if self._tls is None else (yield from self._tls.read())


class Tls:
    """TLS of one connection. The handshake is a part of the first `write`."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._to_send, server_hostname=host)

    def write(self, data: bytes) -> Steps[None]:
        yield from self._step(self._tls.write, data)

    def read(self) -> Steps[bytes]:
        return (yield from self._step(self._tls.read, receive_bytes))

    def has_more(self) -> bool:
        return self._received.pending > 0 or self._tls.pending() > 0

    def _step(self, take: Callable[..., T], *args: Any) -> Steps[T]:
        while True:
            try:
                result = take(*args)
            except ssl.SSLWantReadError:
                if to_send := self._to_send.read():
                    yield to_send
                if received := (yield None):
                    self._received.write(received)
                else:
                    self._received.write_eof()
            else:
                if to_send := self._to_send.read():
                    yield to_send
                return result
