"""The life of a run: blocks in several threads and contexts at a time, and a run that ends while a call is decided."""

from __future__ import annotations

import asyncio
import contextvars
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tollgate_client import Run, ToolDenied, current_run

from .stand_in import allow, answering, http, passing, stand_in
from .test_bad_sidecars import gate_at, ways


@pytest.fixture
def run() -> Run:
    return gate_at("http://127.0.0.1:1").run(agent="a", tier="api")


def test_one_run_can_be_the_block_of_several_threads_at_a_time(run: Run) -> None:
    inside = threading.Barrier(2)
    left = threading.Event()

    def work(is_first: bool) -> bool:
        with run:
            inside.wait(60)
            if not is_first:
                left.wait(60)
            was_inside = current_run() is run
        left.set()
        with pytest.raises(LookupError):
            current_run()
        return was_inside

    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(work, [True, False])] == [True, True]


def test_one_run_can_be_the_block_of_several_tasks_at_a_time(run: Run) -> None:
    async def work(own: asyncio.Event, other: asyncio.Event) -> bool:
        async with run:
            own.set()
            await other.wait()
            was_inside = current_run() is run
        with pytest.raises(LookupError):
            current_run()
        return was_inside

    async def scenario() -> list[bool]:
        one, two = asyncio.Event(), asyncio.Event()
        return [*await asyncio.gather(work(one, two), work(two, one))]

    assert asyncio.run(scenario()) == [True, True]


def test_a_block_that_ends_in_another_context_ends_the_run(run: Run) -> None:
    # As an async fixture or an async generator does.
    contextvars.copy_context().run(run.__enter__)
    contextvars.copy_context().run(run.__exit__, None, None, None)
    with pytest.raises(ToolDenied, match="run_ended"):
        run.decide("t", {})


def test_blocks_of_several_runs_are_inside_of_each_other(run: Run) -> None:
    other = run.delegate("b")
    with run, other:
        assert current_run() is other
        with run:
            assert current_run() is run
        assert current_run() is other
    with pytest.raises(LookupError):
        current_run()


pending = {"decision": "deny", "reason": "approval_pending: x", "kind": "retry", "approval_id": "a", "request_id": "r"}


@ways
@pytest.mark.parametrize("whose", ["its own", "the one above it"])
def test_a_call_whose_run_ended_while_a_person_was_asked_is_not_made(way: str, whose: str) -> None:
    called: list[str] = []

    def tool() -> None:
        called.append("x")

    async def tool_later() -> None:
        called.append("x")

    def handle(connection: socket.socket, request: bytes) -> None:
        if b"wait_ms" in request:
            # The block of the run ends, and then the person approves.
            ending.__exit__(None, None, None)
            connection.sendall(http(allow))
        else:
            connection.sendall(http(pending if b"tool-use" in request else passing))

    with stand_in(handle) as server, gate_at(server.address) as gate:
        ending = gate.run(agent="a", tier="api")
        run = ending if whose == "its own" else ending.delegate("b")
        with pytest.raises(ToolDenied) as caught:
            asyncio.run(run.guard("t")(tool_later)()) if way == "async" else run.guard("t")(tool)()
        assert len(server.requests) == 2
    assert called == []
    assert (caught.value.kind, caught.value.code, caught.value.called) == ("terminal", "run_ended", False)


def test_a_call_that_ends_before_its_run_is_made() -> None:
    server_of = stand_in(answering(http(allow), http(passing)))
    with server_of as server, gate_at(server.address) as gate, gate.run(agent="a", tier="api") as run:
        assert run.guard("t")(lambda: "x")() == "x"
