"""Calls that a person decides, against a real control plane."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tollgate_client import Abort, Gate, Run, ToolDenied

from .programs import World, attempts


@pytest.fixture
def run(gate: Gate) -> Iterator[Run]:
    with gate.run(agent="clerk", tier="api") as run:
        yield run


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def transfer_of(
    run: Run, called: list[int], wait: float | None = None, abort: Abort | None = None
) -> Callable[[int], str]:
    @run.guard("payments.transfer", wait=wait, abort=abort)
    def transfer(amount: int) -> str:
        called.append(amount)
        return "sent"

    return transfer


def denial_of(future: Future[str]) -> ToolDenied:
    with pytest.raises(ToolDenied) as caught:
        future.result(60)
    return caught.value


def test_a_call_waits_until_a_person_approves_it(run: Run, world: World, pool: ThreadPoolExecutor, gate: Gate) -> None:
    called: list[int] = []
    call = pool.submit(transfer_of(run, called), 500)
    approval_id = world.pending(run.session)
    assert called == []
    assert (gate.approval(approval_id) or {})["state"] == "pending"
    world.answer(approval_id, "approve", "known recipient")
    assert call.result(60) == "sent"
    assert called == [500]
    assert (asyncio.run(gate.aapproval(approval_id)) or {})["state"] == "used"
    assert gate.approval("none/../of these") is None


def test_a_call_that_a_person_denies_is_not_made_and_has_the_note(
    run: Run, world: World, pool: ThreadPoolExecutor
) -> None:
    called: list[int] = []
    call = pool.submit(transfer_of(run, called), 501)
    approval_id = world.pending(run.session)
    world.answer(approval_id, "deny", "use the test account")
    error = denial_of(call)
    assert (error.kind, error.code, error.approval_id, called) == ("terminal", "approval_denied", approval_id, [])
    assert "use the test account" in str(error)


def test_without_a_wait_the_denial_names_the_approval_and_the_same_call_meets_the_answer(
    run: Run, world: World, gate: Gate
) -> None:
    called: list[int] = []
    transfer = transfer_of(run, called, wait=0)
    with pytest.raises(ToolDenied) as caught:
        transfer(502)
    error = caught.value
    assert (error.kind, error.code) == ("retry", "approval_pending")
    approval_id = world.pending(run.session)
    assert error.approval_id == approval_id
    assert error.retry_after is not None
    world.answer(approval_id, "approve", "fine")
    assert transfer(502) == "sent"
    assert called == [502]


def test_a_rule_that_waits_for_less_ends_the_wait(run: Run) -> None:
    with pytest.raises(ToolDenied) as caught:
        run.decide("payments.short", {"amount": 1}, wait=3600)
    assert (caught.value.code, caught.value.wait_s) == ("approval_pending", 1)


def test_an_aborted_wait_makes_no_call_and_the_approval_remains(
    run: Run, world: World, pool: ThreadPoolExecutor
) -> None:
    called: list[int] = []
    abort = Abort()
    call = pool.submit(transfer_of(run, called, abort=abort), 503)
    approval_id = world.pending(run.session)
    # The held request of this call, after the one that made the approval.
    for _ in attempts():
        if abort._sockets:  # pyright: ignore[reportPrivateUsage]
            break
    abort.set()
    error = denial_of(call)
    assert (error.kind, error.code, called) == ("aborted", "wait_aborted", [])
    world.answer(approval_id, "approve", "too late")
    with pytest.raises(ToolDenied):
        transfer_of(run, called, abort=abort)(503)
    assert called == []
    assert transfer_of(run, called)(503) == "sent"


def test_a_cancelled_task_makes_no_call(run: Run, world: World) -> None:
    called: list[int] = []

    @run.guard("payments.transfer")
    async def transfer(amount: int) -> None:
        called.append(amount)

    async def scenario() -> None:
        task = asyncio.create_task(transfer(504))
        approval_id = await asyncio.to_thread(world.pending, run.session)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(world.answer, approval_id, "approve", "too late")
        assert called == []
        await transfer(504)

    asyncio.run(scenario())
    assert called == [504]


def test_what_changes_while_a_call_waits_does_not_reach_the_tool(
    run: Run, world: World, pool: ThreadPoolExecutor
) -> None:
    got: list[list[str]] = []

    @run.guard("payments.transfer")
    def transfer(amount: int, to: list[str]) -> str:
        got.append(to)
        return "sent"

    to = ["DE89"]
    call = pool.submit(transfer, 505, to)
    approval_id = world.pending(run.session)
    to[0] = "XX00"
    world.answer(approval_id, "approve", "fine")
    assert call.result(60) == "sent"
    assert got == [["DE89"]]


def test_several_threads_wait_at_a_time(run: Run, world: World) -> None:
    called: list[int] = []
    transfer = transfer_of(run, called)
    threads = [threading.Thread(target=transfer, args=(600 + at,)) for at in range(3)]
    for thread in threads:
        thread.start()
        world.answer(world.pending(run.session), "approve", "fine")
    for thread in threads:
        thread.join(60)
    assert sorted(called) == [600, 601, 602]
