"""Whatever is at the address of the sidecar: a call is made only for an answer that allows it in the exact form."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from tollgate_client import Gate, ToolDenied, connect, guard

from .stand_in import Handle, StandIn, allow, answering, http, passing, stand_in

key = "gsk_default_" + "a" * 40


def gate_at(address: str, timeout: float = 5) -> Gate:
    return connect(sidecar=address, key=key, timeout=timeout)


def attempt(address: str, way: str, timeout: float = 5, wait: float = 300) -> tuple[ToolDenied | None, list[str]]:
    """Makes one guarded call, in a thread or in an event loop. Returns the denial, and what the tool got."""
    called: list[str] = []

    def title_of(title: str) -> str:
        called.append(title)
        return title

    async def title_later(title: str) -> str:
        return title_of(title)

    async def scenario(gate: Gate) -> None:
        async with gate:
            await gate.run(agent="a", tier="api", wait=wait).guard("t")(title_later)("x")

    try:
        if way == "async":
            asyncio.run(scenario(gate_at(address, timeout)))
        else:
            with gate_at(address, timeout) as gate:
                gate.run(agent="a", tier="api", wait=wait).guard("t")(title_of)("x")
    except ToolDenied as error:
        return error, called
    return None, called


ways = pytest.mark.parametrize("way", ["thread", "async"])


@ways
def test_the_stand_in_can_allow(way: str) -> None:
    with stand_in(answering(http(allow), http(passing))) as server:
        assert attempt(server.address, way) == (None, ["x"])
        head, use = server.requests[0].decode().split("\r\n\r\n")
        assert head.startswith("POST /govern/tool-use HTTP/1.1\r\n")
        assert f"authorization: bearer {key.lower()}\r\n" in head.lower()
        assert json.loads(use)["tool_input"] == {"title": "x"}


def nonsense() -> dict[str, bytes]:
    depth = b"[" * 100_000
    return {
        "empty": http(b""),
        "no JSON": http(b"<html>"),
        "not UTF-8": http(b'{"decision": "\xff"}'),
        "a list": http(b"[]"),
        "deep": http(depth),
        "true": http(b"true"),
        "no decision": http({}),
        "another decision": http({**allow, "decision": "ALLOW"}),
        "a list as decision": http({**allow, "decision": ["allow"]}),
        "no request id": http({"decision": "allow", "reason": "allowed: x"}),
        "no reason": http({"decision": "allow", "request_id": "r"}),
        "an input that is no object": http({**allow, "modified_input": "x"}),
        "an input without the argument": http({**allow, "modified_input": {}}),
        "an input with another argument": http({**allow, "modified_input": {"title": "x", "more": 1}}),
        "an input of another type": http({**allow, "modified_input": {"title": ["x"]}}),
        "a deny without a reason": http({"decision": "deny"}),
        "a deny of strange types": http(
            {"decision": "deny", "reason": "a: b", "kind": 1, "retryAfterMs": "x", "remedies": 1}
        ),
        "both": http(b'{"decision": "allow", "reason": "a: b", "request_id": "r", "decision": "deny"}'),
        "201": http(allow, "201 Created"),
        "204": http(b"", "204 No Content"),
        "404": http(allow, "404 Not Found"),
        "401": http({"decision": "deny", "reason": "key_revoked: x", "kind": "terminal"}, "401 Unauthorized"),
        "500": http(allow, "500 Internal Server Error"),
        "503": http(
            {"error": "x", "decision": "deny", "reason": "outage: x", "kind": "retry"}, "503 Service Unavailable"
        ),
        "not HTTP": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "compressed": http(b"\x1f\x8b", "200 OK", "content-encoding: gzip"),
        "too much": http(json.dumps({**allow, "reason": "x" * 5_000_000}).encode()),
        "two lengths": http(allow, "200 OK", "content-length: 3"),
    }


@ways
@pytest.mark.parametrize("what", nonsense())
def test_an_answer_in_another_form_is_denied(what: str, way: str) -> None:
    with stand_in(answering(nonsense()[what])) as server:
        error, called = attempt(server.address, way)
    assert called == []
    assert error is not None
    assert error.called is False
    wanted = {"401": "key_revoked", "503": "outage", "a deny of strange types": "a"}
    if what.startswith("an input ") and what != "an input that is no object":
        assert (error.kind, error.code) == ("terminal", "redaction_unsupported")
    elif what in wanted:
        assert error.code == wanted[what]
    else:
        assert error.kind == "unavailable"


def test_a_decision_of_a_megabyte_is_read(tmp_path: Path) -> None:
    title = "y" * 1_000_000
    denial = {"decision": "deny", "reason": f"policy_denied: {title}", "kind": "terminal", "request_id": "r"}
    with stand_in(answering(http({**allow, "modified_input": {"title": title}}), http(passing))) as server:
        assert attempt(server.address, "thread") == (None, [title])
    with stand_in(answering(http(denial))) as server:
        error, called = attempt(server.address, "async")
    assert called == []
    assert error is not None
    assert (error.code, len(error.reason), len(str(error)) < 3_000) == ("policy_denied", 1_000_015, True)


@ways
@pytest.mark.parametrize(
    "output", [{}, {"action": "allow"}, {"action": "redact"}, {"action": ["pass"]}, {"action": "block"}, None]
)
def test_an_output_that_is_not_released_in_the_exact_form_is_withheld(
    output: dict[str, object] | None, way: str
) -> None:
    second = b"" if output is None else http(output)
    with stand_in(answering(http(allow), second + b"\r\n\r\n" if output is None else second)) as server:
        error, called = attempt(server.address, way)
    assert called == ["x"]
    assert error is not None
    assert (error.called, error.kind) == (True, "unavailable")


@ways
def test_a_blocked_output_is_withheld_with_its_reason(way: str) -> None:
    blocked: dict[str, object] = {"action": "block", "reason": "redaction_unsupported: x"}
    with stand_in(answering(http(allow), http(blocked))) as server:
        error, _ = attempt(server.address, way)
    assert error is not None
    assert (error.called, error.code, error.kind) == (True, "redaction_unsupported", "terminal")
    assert str(error).startswith('The call of "t" was made, and its output was withheld: redaction_unsupported: x.')


@ways
def test_a_redirect_is_not_followed(way: str) -> None:
    with stand_in(answering(http(allow))) as other:
        location = f"location: {other.address}/govern/tool-use"
        for status in ("301 Moved", "307 Temporary Redirect", "308 Permanent Redirect"):
            with stand_in(answering(http(allow, status, location))) as server:
                error, called = attempt(server.address, way)
                assert called == []
                assert error is not None
                assert error.kind == "unavailable"
        assert other.connections == 0


@ways
def test_an_absent_sidecar_denies(way: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    for address in (f"http://127.0.0.1:{port}", f"unix:{tmp_path}/none.sock"):
        error, called = attempt(address, way)
        assert called == []
        assert error is not None
        assert (error.kind, error.code) == ("unavailable", "sidecar_unavailable")


def closing_after(text: bytes) -> Handle:
    def handle(connection: socket.socket, _: bytes) -> None:
        with suppress(OSError):
            connection.sendall(text)
            connection.shutdown(socket.SHUT_RDWR)

    return handle


whole = http(allow)


@ways
@pytest.mark.parametrize(
    "sent", [b"", whole[:10], whole[:-1], b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps(allow).encode()[:-1]]
)
def test_a_sidecar_that_dies_in_the_middle_of_its_answer_denies(sent: bytes, way: str) -> None:
    with stand_in(closing_after(sent)) as server:
        error, called = attempt(server.address, way)
    assert called == []
    assert error is not None
    assert error.kind == "unavailable"


@ways
def test_a_sidecar_that_does_not_answer_in_time_denies(way: str) -> None:
    def silent(connection: socket.socket, _: bytes) -> None:
        server.release.wait(60)

    with stand_in(silent) as server:
        error, called = attempt(server.address, way, timeout=0.2)
        assert called == []
        assert error is not None
        assert "no whole answer within 0.2 s" in error.reason


@ways
def test_an_answer_that_never_ends_denies(way: str) -> None:
    def dripping(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
        while not server.release.wait(0.05):
            connection.sendall(b" ")

    with stand_in(dripping) as server:
        error, called = attempt(server.address, way, timeout=0.5)
        assert called == []
        assert error is not None
        assert "no whole answer within 0.5 s" in error.reason


def pending_then(*answers: bytes, **more: object) -> Handle:
    pending = {
        "decision": "deny",
        "reason": "approval_pending: x",
        "kind": "retry",
        "approval_id": "a",
        "request_id": "r",
        **more,
    }
    return answering(http(pending), *answers)


@ways
def test_a_sidecar_that_dies_while_a_person_is_asked_denies(way: str) -> None:
    pend = pending_then(b"")

    def dying(connection: socket.socket, request: bytes) -> None:
        pend(connection, request)
        if b'"wait_ms"' in request:
            connection.shutdown(socket.SHUT_RDWR)

    with stand_in(dying) as server:
        error, called = attempt(server.address, way)
        bodies = server.bodies()
    assert called == []
    assert error is not None
    assert error.kind == "unavailable"
    assert [body.get("wait_ms") for body in bodies] == [None, 50_000]
    assert bodies[0]["tool_input"] == bodies[1]["tool_input"]


@ways
def test_the_wait_is_no_longer_than_said(way: str) -> None:
    with stand_in(pending_then(http(allow), http(passing))) as server:
        assert attempt(server.address, way, wait=20)[1] == ["x"]
        waits = [body.get("wait_ms") for body in server.bodies()[:2]]
    assert waits[0] is None
    assert isinstance(waits[1], int)
    assert 0 < waits[1] <= 20_000


@ways
def test_the_wait_is_no_longer_than_the_rule_lets_it(way: str) -> None:
    with stand_in(pending_then(http(allow), http(passing), waitMs=30_000)) as server:
        assert attempt(server.address, way, wait=3600)[1] == ["x"]
        waits = [body.get("wait_ms") for body in server.bodies()[:2]]
    assert isinstance(waits[1], int)
    assert 20_000 < waits[1] <= 30_000


@ways
def test_a_proxy_of_the_environment_is_not_used(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with stand_in(answering(http(allow))) as proxy, stand_in(answering(http(allow), http(passing))) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.address)
        assert attempt(server.address, way) == (None, ["x"])
        assert proxy.connections == 0


@ways
def test_a_unix_domain_socket_is_an_address(way: str, tmp_path: Path) -> None:
    with stand_in(answering(http(allow), http(passing)), path=f"{tmp_path}/tollgate.sock") as server:
        assert attempt(server.address, way) == (None, ["x"])
        assert len(server.requests) == 2


def test_connections_are_kept(tmp_path: Path) -> None:
    with stand_in(answering(http(passing))) as server:
        with gate_at(server.address) as gate:
            for _ in range(3):
                with pytest.raises(ToolDenied):
                    gate.run(agent="a", tier="api").decide("t", {})
        assert (len(server.requests), server.connections) == (3, 1)


def test_a_closed_gate_denies() -> None:
    with stand_in(answering(http(allow))) as server:
        gate = gate_at(server.address)
        run = gate.run(agent="a", tier="api")
        gate.close()
        with pytest.raises(ToolDenied) as caught:
            run.decide("t", {})
        assert "the gate is closed" in caught.value.reason
        assert server.connections == 0


wrong: list[tuple[dict[str, object], str]] = [
    ({"key": f"{key}\n"}, "without blanks and line ends"),
    ({"key": f"{key}\r\nX-Other: 1"}, "without blanks and line ends"),
    ({"key": "ключ"}, "printable ASCII"),
    ({"key": ""}, "a key is required"),
    ({"sidecar": "127.0.0.1:9090"}, "must be http"),
    ({"sidecar": "ftp://127.0.0.1"}, "must be http"),
    ({"sidecar": "http://user:pass@127.0.0.1:9090"}, "must be http"),
    ({"sidecar": "http://127.0.0.1:9090/govern"}, "must be http"),
    ({"sidecar": "http://127.0.0.1:x"}, "must be http"),
    ({"sidecar": "http://127.0.0.1:9090\n"}, "must be http"),
    ({"sidecar": "http://127.0.0.1:9090?a=b"}, "must be http"),
    ({"sidecar": "http://sidecar.example:9090"}, "plain text"),
    ({"sidecar": "http://127.0.0.1.example:9090"}, "plain text"),
    ({"sidecar": "unix:run/tollgate.sock"}, "must begin with /"),
    ({"sidecar": f"unix:/{'x' * 110}"}, "at most 103 bytes"),
    ({"timeout": 0}, "timeout must be a number of seconds from 0.001 to 86400, is 0"),
    ({"timeout": float("inf")}, "timeout must be a number of seconds .*, is inf"),
    ({"timeout": float("nan")}, "timeout must be a number of seconds .*, is nan"),
    ({"timeout": 1e10}, "timeout must be a number of seconds .*, is 10000000000.0"),
    ({"timeout": 10**400}, "timeout must be a number of seconds"),
    ({"timeout": "10"}, "timeout must be a number of seconds .*, is '10'"),
    ({"timeout": True}, "timeout must be a number of seconds .*, is True"),
    ({"timeout": None}, "timeout must be a number of seconds .*, is None"),
    ({"key": key.encode()}, "the key must be a str, is of type bytes"),
    ({"key": 5}, "the key must be a str, is of type int"),
    ({"sidecar": 9090}, "the sidecar must be a str such as http://host:port or unix:/path, is of type int"),
    ({"sidecar": Path("/run/sock")}, "the sidecar must be a str such as .*, is of type PosixPath"),
    ({"plaintext": "false"}, "plaintext must be True or False, is 'false'"),
]


@pytest.mark.parametrize(("options", "words"), wrong, ids=[words for _, words in wrong])
def test_a_wrong_option_is_refused_and_the_key_is_not_shown(options: dict[str, object], words: str) -> None:
    make: Callable[..., Gate] = connect
    with pytest.raises(ValueError, match=words) as caught:
        make(**{"key": key, **options})
    assert key not in str(caught.value)


wrong_of_runs: list[tuple[dict[str, object], str]] = [
    ({"wait": "10"}, "wait must be a number of seconds from 0 to 86400, is '10'"),
    ({"wait": float("inf")}, "wait must be a number of seconds .*, is inf"),
    ({"wait": float("nan")}, "wait must be a number of seconds .*, is nan"),
    ({"wait": -1}, "wait must be a number of seconds .*, is -1"),
    ({"wait": 1e10}, "wait must be a number of seconds"),
    ({"wait": True}, "wait must be a number of seconds"),
    ({"agent": b"a"}, "agent must be a text"),
    ({"agent": 5}, "agent must be a text"),
    ({"tier": 5}, "tier must be one of"),
    ({"tier": ["api"]}, "tier must be one of"),
    ({"session": 5}, "session must be a text"),
    ({"user": 5}, "user must be a text"),
    ({"client": 5}, "client must be a text"),
    ({"client_version": 5}, "client_version must be a text"),
]


@pytest.mark.parametrize(("options", "words"), wrong_of_runs, ids=[repr(options) for options, _ in wrong_of_runs])
def test_a_wrong_option_of_a_run_is_refused(options: dict[str, object], words: str) -> None:
    with gate_at("http://127.0.0.1:1") as gate:
        make: Callable[..., Any] = gate.run
        with pytest.raises(ValueError, match=words):
            make(**cast("Any", {"agent": "a", "tier": "api", **options}))


wrong_of_guards: list[tuple[dict[str, object], str]] = [
    ({"exclude": "title"}, r"exclude must be a list of names, is 'title': write \['title'\]"),
    ({"exclude": b"title"}, "exclude must be a list of names"),
    ({"exclude": [5]}, "exclude must be a list of names"),
    ({"exclude": 5}, "exclude must be a list of names"),
    ({"wait": "10"}, "wait must be a number of seconds"),
    ({"wait": float("inf")}, "wait must be a number of seconds"),
    ({"abort": 5}, "abort must be an Abort"),
]


@pytest.mark.parametrize(("options", "words"), wrong_of_guards, ids=[repr(options) for options, _ in wrong_of_guards])
def test_a_wrong_option_of_a_guard_is_refused(options: dict[str, object], words: str) -> None:
    def tool(title: str) -> str:
        return title

    with gate_at("http://127.0.0.1:1") as gate:
        for make in (gate.run(agent="a", tier="api").guard, guard):
            guarding: Callable[..., Any] = make
            with pytest.raises(ValueError, match=words):
                guarding("t", **options)(tool)


wrong_of_calls: list[tuple[object, str]] = [
    ({1: "x"}, "call_malformed: input has a key of type int; keys must be text"),
    ({b"x": 1}, "call_malformed: input has a key of type bytes; keys must be text"),
    (["x"], "call_malformed: input must be a mapping, is of type list"),
    ("x", "call_malformed: input must be a mapping, is of type str"),
    (None, "call_malformed: input must be a mapping, is of type NoneType"),
]


@pytest.mark.parametrize(("given", "words"), wrong_of_calls)
def test_a_wrong_input_is_denied_with_its_problem(given: object, words: str) -> None:
    with gate_at("http://127.0.0.1:1") as gate:
        run = gate.run(agent="a", tier="api")
        decide: Callable[..., Any] = run.decide
        with pytest.raises(ToolDenied) as caught:
            decide("t", given)
        assert caught.value.reason == words
        adecide: Callable[..., Any] = run.adecide
        with pytest.raises(ToolDenied) as caught:
            asyncio.run(adecide("t", given))
        assert caught.value.reason == words


def test_the_environment_is_read_and_arguments_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOLLGATE_KEY", raising=False)
    with pytest.raises(ValueError, match="TOLLGATE_KEY"):
        connect()

    def decided(server: StandIn, gate: Gate) -> bool:
        before = len(server.requests)
        assert gate.run(agent="a", tier="api").decide("t", {}).request_id == "r"
        gate.close()
        return len(server.requests) > before

    with stand_in(answering(http(allow))) as one, stand_in(answering(http(allow))) as other:
        monkeypatch.setenv("TOLLGATE_KEY", key)
        monkeypatch.setenv("TOLLGATE_SIDECAR", one.address)
        assert decided(one, connect())
        assert decided(other, connect(sidecar=other.address))
        port = one.address.rpartition(":")[2]
        assert decided(one, connect(sidecar=f"http://localhost:{port}"))
    monkeypatch.setenv("TOLLGATE_ALLOW_PLAINTEXT", "true")
    connect(sidecar="http://sidecar.example:9090").close()
    with pytest.raises(ValueError, match="plain text"):
        connect(sidecar="http://sidecar.example:9090", plaintext=False)
    assert key not in repr(connect())
