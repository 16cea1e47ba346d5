"""A server that answers what a test says, byte by byte, in place of a sidecar."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Handle = Callable[[socket.socket, bytes], None]

allow = {"decision": "allow", "reason": "allowed: x", "request_id": "r"}
passing = {"action": "pass"}


@dataclass
class StandIn:
    """`requests`: head and body of each request that arrived whole. `connections`: how many were opened."""

    address: str
    requests: list[bytes] = field(default_factory=lambda: list[bytes]())
    connections: int = 0
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    release: threading.Event = field(default_factory=threading.Event)

    def bodies(self) -> list[dict[str, object]]:
        return [json.loads(request.split(b"\r\n\r\n", 1)[1]) for request in self.requests]


def http(body: bytes | Mapping[str, object], status: str = "200 OK", *headers: str) -> bytes:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(text)}", *headers, "", ""]
    return "\r\n".join(head).encode() + text


def answering(*answers: bytes) -> Handle:
    """Sends these answers, one for each request; the last one is repeated."""
    left = list(answers)

    def handle(connection: socket.socket, _: bytes) -> None:
        connection.sendall(left.pop(0) if len(left) > 1 else left[0])

    return handle


@contextmanager
def stand_in(handle: Handle, path: str | None = None, tls: ssl.SSLContext | None = None) -> Generator[StandIn]:
    """Listens on a free port, or on a Unix domain socket at `path`, until the end of the block."""
    server = socket.socket(socket.AF_INET if path is None else socket.AF_UNIX)
    server.bind(("127.0.0.1", 0) if path is None else path)
    server.listen(50)
    scheme = "http" if tls is None else "https"
    address = f"unix:{path}" if path else f"{scheme}://127.0.0.1:{server.getsockname()[1]}"
    state = StandIn(address)
    open_ones: list[socket.socket] = []

    def serve(accepted: socket.socket) -> None:
        with (
            accepted,
            suppress(OSError),
            accepted if tls is None else tls.wrap_socket(accepted, server_side=True) as connection,
        ):
            while request := _whole_request(connection):
                state.requests.append(request)
                state.arrived.release()
                handle(connection, request)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                state.connections += 1
                open_ones.append(connection)
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield state
    finally:
        state.release.set()
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        acceptor.join(10)
        for connection in open_ones:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _whole_request(connection: socket.socket) -> bytes:
    request = b""
    while b"\r\n\r\n" not in request:
        if not (more := connection.recv(65536)):
            return b""
        request += more
    head, _, body = request.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while lengths and len(body) < int(lengths[0]):
        if not (more := connection.recv(65536)):
            return b""
        body += more
    return head + b"\r\n\r\n" + body
