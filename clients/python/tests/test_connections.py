"""One request has one answer, within one time: what a server sends besides, or too slowly, decides nothing."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tollgate_client import Gate, Run, ToolDenied

from .stand_in import Handle, StandIn, allow, answering, http, passing, stand_in
from .test_bad_sidecars import attempt, gate_at, ways

denial = http({"decision": "deny", "reason": "policy_denied: x", "kind": "terminal"})
whole = http(allow)
head, _, body = whole.partition(b"\r\n\r\n")


def decisions(gate: Gate, way: str, count: int, between: Callable[[], object] = lambda: None) -> list[str]:
    """Asks several times with one run. Returns `allow`, or the code of the denial, of each."""
    found: list[str] = []

    def ended(error: ToolDenied | None = None) -> None:
        found.append("allow" if error is None else error.code)
        between()

    async def in_loop(run: Run) -> None:
        for _ in range(count):
            try:
                await run.adecide("t", {})
            except ToolDenied as error:
                ended(error)
            else:
                ended()

    def in_thread(run: Run) -> None:
        for _ in range(count):
            try:
                run.decide("t", {})
            except ToolDenied as error:
                ended(error)
            else:
                ended()

    with gate:
        run = gate.run(agent="a", tier="api")
        asyncio.run(in_loop(run)) if way == "async" else in_thread(run)
    return found


surplus = {
    "a whole answer": whole,
    "the head of an answer": head + b"\r\n\r\n",
    "a part of a head": head[:9],
    "an answer to nothing": b"HTTP/1.1 103 Early Hints\r\n\r\n" + whole,
    "a line end": b"\r\n",
}


@ways
@pytest.mark.parametrize("more", surplus.values(), ids=surplus.keys())
def test_what_comes_with_an_answer_does_not_decide_the_next_call(more: bytes, way: str) -> None:
    def handle(connection: socket.socket, _: bytes) -> None:
        connection.sendall(whole + more if len(server.requests) == 1 else denial)

    with stand_in(handle) as server:
        assert decisions(gate_at(server.address), way, 3) == ["allow", "policy_denied", "policy_denied"]
        assert server.connections == 2


@ways
def test_what_comes_between_two_requests_does_not_decide_the_second(way: str) -> None:
    kept: list[socket.socket] = []

    def handle(connection: socket.socket, _: bytes) -> None:
        kept.append(connection)
        connection.sendall(whole if len(server.requests) == 1 else denial)

    def send_more() -> None:
        if len(kept) == 1:
            kept[0].sendall(whole)

    with stand_in(handle) as server:
        assert decisions(gate_at(server.address), way, 2, send_more) == ["allow", "policy_denied"]
        assert server.connections == 2


def certificate(folder: Path, name: str) -> ssl.SSLContext:
    """Makes a certificate for a name, `cert.pem` in the folder. Returns what a server presents it with."""
    key, cert = str(folder / "key.pem"), str(folder / "cert.pem")
    subject = ["-subj", "/CN=stand-in", "-addext", f"subjectAltName={name}"]
    new = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        key,
        "-out",
        cert,
    ]
    subprocess.run(["openssl", *new, *subject], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


@ways
@pytest.mark.parametrize("body", ["x", "x" * 3_000_000], ids=["small", "large"])
def test_https_is_asked_if_its_certificate_is_trusted(
    way: str, body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = certificate(tmp_path, "IP:127.0.0.1")
    answers = answering(http({**allow, "filler": body}), http(passing))
    with stand_in(answers, tls=tls) as server:
        error, called = attempt(server.address, way)
        assert called == []
        assert error is not None
        assert "SSLCertVerificationError" in error.reason
        assert server.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert attempt(server.address, way) == (None, ["x"])
        assert (len(server.requests), server.connections) == (2, 2)


@ways
def test_https_of_another_name_is_not_asked(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    with stand_in(answering(http(allow)), tls=certificate(tmp_path, "DNS:sidecar.example")) as server:
        error, _ = attempt(server.address, way)
        assert error is not None
        assert server.requests == []


@ways
@pytest.mark.parametrize("is_one_record", [True, False])
def test_what_comes_with_an_answer_of_https_does_not_decide_the_next_call(
    way: str, is_one_record: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))

    def handle(connection: socket.socket, _: bytes) -> None:
        if len(server.requests) > 1:
            connection.sendall(denial)
        elif is_one_record:
            connection.sendall(whole + whole)
        else:
            connection.sendall(whole)
            connection.sendall(whole)

    with stand_in(handle, tls=certificate(tmp_path, "IP:127.0.0.1")) as server:
        assert decisions(gate_at(server.address), way, 2) == ["allow", "policy_denied"]
        assert server.connections == 2


def repeating(text: bytes, every_s: float, first: bytes = b"") -> Callable[[StandIn], Handle]:
    """Sends a text again and again until the end of the test, or of the connection."""

    def of(server: StandIn) -> Handle:
        def handle(connection: socket.socket, _: bytes) -> None:
            with suppress(OSError):
                connection.sendall(first)
                while not server.release.wait(every_s):
                    connection.sendall(text)

        return handle

    return of


slow = {
    "a head byte by byte": repeating(b"x", 0.02, b"HTTP/1.1 200 OK\r\nfiller: "),
    "a status line byte by byte": repeating(b"1", 0.02, b"HTTP/1."),
    "a body byte by byte": repeating(b" ", 0.02, b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n"),
    "answers before the answer": repeating(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", 0.02),
    "chunks byte by byte": repeating(b"1\r\n \r\n", 0.02, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
}


@ways
@pytest.mark.parametrize("what", slow)
def test_no_way_of_sending_slowly_takes_longer_than_the_time_of_the_request(what: str, way: str) -> None:
    def handle(connection: socket.socket, request: bytes) -> None:
        slow[what](server)(connection, request)

    ended = threading.Event()
    outcome: list[ToolDenied | None] = []

    def call() -> None:
        outcome.append(attempt(server.address, way, timeout=0.5)[0])
        ended.set()

    with stand_in(handle) as server:
        # A daemon, so that a call that never ends does not keep the tests.
        threading.Thread(target=call, daemon=True).start()
        assert ended.wait(20)
    (error,) = outcome
    assert error is not None
    assert (error.code, "no whole answer within 0.5 s" in error.reason) == ("sidecar_unavailable", True)


large = {
    "a head": (b"HTTP/1.1 200 OK\r\n" + b"filler: " + b"x" * 200_000, "RemoteProtocolError"),
    "answers before the answer": (
        (b"HTTP/1.1 103 Early Hints\r\nlink: " + b"x" * 1_000 + b"\r\n\r\n") * 5_000,
        "bytes",
    ),
    "chunks of one byte": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + (b"1;" + b"x" * 1_000 + b"\r\n \r\n") * 5_000,
        "bytes",
    ),
}


@ways
@pytest.mark.parametrize("what", large)
def test_no_way_of_sending_much_is_read_without_a_bound(what: str, way: str) -> None:
    sent, words = large[what]

    def handle(connection: socket.socket, _: bytes) -> None:
        with suppress(OSError):
            connection.sendall(sent)
            server.release.wait(60)

    with stand_in(handle) as server:
        error, called = attempt(server.address, way, timeout=30)
    assert called == []
    assert error is not None
    assert (error.code, words in error.reason) == ("sidecar_unavailable", True), error.reason


def test_a_server_that_does_not_read_does_not_delay_a_request_for_longer_than_its_time() -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        with gate_at(f"http://127.0.0.1:{server.getsockname()[1]}", 0.5) as gate, pytest.raises(ToolDenied) as caught:
            gate.run(agent="a", tier="api").decide("t", {"text": "x" * 20_000_000})
    assert caught.value.code == "sidecar_unavailable"


def test_a_cancellation_in_the_step_in_which_the_answer_arrives_is_not_lost() -> None:
    called: list[int] = []
    connections: list[socket.socket] = []
    asked = threading.Semaphore(0)

    def handle(connection: socket.socket, request: bytes) -> None:
        if b"/govern/tool-use" in request:
            connections.append(connection)
            asked.release()

    async def tool(at: int) -> None:
        called.append(at)

    async def scenario(run: Run) -> None:
        # After how many steps of the loop the client has the answer is its own affair, so each number is tried.
        for at in range(30):
            task = asyncio.create_task(run.guard("t")(tool)(at))
            assert await asyncio.to_thread(asked.acquire, timeout=60)
            connections[-1].sendall(whole)
            for _ in range(at):
                await asyncio.sleep(0)
            before = [*called]
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert called == before

    with stand_in(handle) as server, gate_at(server.address) as gate:
        asyncio.run(scenario(gate.run(agent="a", tier="api")))
    # Early ones were cancelled before the call, and late ones in the report of it.
    assert called != []
    assert 0 not in called
