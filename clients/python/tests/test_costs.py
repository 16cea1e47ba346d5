"""Costs of runs, against a real control plane and a real sidecar, and against servers that answer wrongly."""

from __future__ import annotations

import asyncio
import pickle
import secrets
import socket

import pytest

from tollgate_client import Cost, CostDenied, Gate, Run, ToolDenied, connect

from .programs import World, attempts
from .stand_in import answering, http, stand_in


@pytest.fixture
def agent(world: World, gate: Gate) -> str:
    """An agent that may spend 100 cents in a run, as soon as the sidecar knows it."""
    name = f"spender-{secrets.token_hex(4)}"
    world.register(name, maxBudgetCents=100, canDelegate=True, delegatable=True)
    for _ in attempts():
        try:
            # An agent that is not registered has no budget.
            gate.run(agent=name, tier="api").reserve_cost(101)
        except CostDenied:
            return name
    raise AssertionError("the sidecar does not know the agent")


def denial(run: Run, cents: float) -> CostDenied:
    with pytest.raises(CostDenied) as caught:
        run.reserve_cost(cents)
    return caught.value


def test_what_is_reserved_is_not_free_until_it_is_settled(gate: Gate, agent: str) -> None:
    with gate.run(agent=agent, tier="api") as run:
        cost = run.reserve_cost(60)
        assert cost.cents == 60
        held = denial(run, 60)
        assert (held.code, held.kind, held.stopped) == ("cap_budget", "retry", False)
        cost.settle(10.5)
        with run.reserve_cost(89.5) as rest:
            rest.settle(89.5)
        spent = denial(run, 1)
        assert (spent.code, spent.kind, spent.stopped) == ("cap_budget", "terminal", True)
        with pytest.raises(ToolDenied) as caught:
            run.decide("github.read", {})
        assert caught.value.code == "cap_budget"


def test_with_least_what_is_left_is_reserved(gate: Gate, agent: str) -> None:
    with gate.run(agent=agent, tier="api") as run:
        run.reserve_cost(70).settle(70)
        assert run.reserve_cost(50, least=10).cents == 30


def test_a_block_counts_all_of_it_unless_it_settled(gate: Gate, agent: str) -> None:
    with gate.run(agent=agent, tier="api") as run:
        with pytest.raises(ZeroDivisionError), run.reserve_cost(40):
            raise ZeroDivisionError
        with run.reserve_cost(40) as cost:
            cost.settle(20)
        assert "40 of 100 are left" in denial(run, 41).reason


def test_in_an_event_loop(gate: Gate, agent: str) -> None:
    async def scenario() -> None:
        async with gate.run(agent=agent, tier="api") as run:
            async with await run.areserve_cost(40) as cost:
                await cost.asettle(30)
            async with await run.areserve_cost(20):
                pass
            costs = await asyncio.gather(*(run.areserve_cost(10) for _ in range(5)))
            assert [cost.cents for cost in costs] == [10] * 5
            with pytest.raises(CostDenied) as caught:
                await run.areserve_cost(1)
            assert caught.value.kind == "retry"
            await gate.aclose()

    asyncio.run(scenario())


def test_a_client_that_dies_leaves_its_reservation_reserved(world: World, agent: str) -> None:
    with connect(sidecar=world.sidecar, key=world.key) as first:
        session = first.run(agent=agent, tier="api", session=secrets.token_hex(8))
        session.reserve_cost(100)
    with connect(sidecar=world.sidecar, key=world.key) as second:
        assert denial(second.run(agent=agent, tier="api", session=session.session), 1).kind == "retry"


def test_a_delegated_run_spends_from_the_budget_above(gate: Gate, agent: str) -> None:
    with gate.run(agent=agent, tier="api") as run:
        with run.delegate("helper", tier="subagent") as task, task.reserve_cost(70):
            pass
        assert "30 of 100 are left" in denial(run, 31).reason


def test_at_the_control_plane_too(world: World, agent: str) -> None:
    with connect(sidecar=world.plane, key=world.key) as gate, gate.run(agent=agent, tier="api") as run:
        run.reserve_cost(60).settle(60)
        assert denial(run, 41).stopped


def test_after_its_run_a_cost_is_settled_and_none_is_reserved(gate: Gate, agent: str) -> None:
    with gate.run(agent=agent, tier="api") as run:
        cost = run.reserve_cost(5)
    cost.settle(5)
    assert denial(run, 1).code == "run_ended"


def test_the_same_amount_is_settled_again_and_another_one_is_not(gate: Gate, agent: str) -> None:
    with gate.run(agent=agent, tier="api") as run:
        cost = run.reserve_cost(50)
        cost.settle(20)
        cost.settle(20)
        with pytest.raises(ValueError, match="settled already, with 20 cents"):
            cost.settle(21)
        assert run.reserve_cost(80).cents == 80


@pytest.mark.parametrize("cents", [-1, float("nan"), float("inf"), 1e12, "5", True])
def test_a_wrong_amount_is_an_error_and_nothing_is_asked(cents: float) -> None:
    with stand_in(answering(http({}))) as server, connect(sidecar=server.address, key=key) as gate:
        run = gate.run(agent="a", tier="api")
        with pytest.raises(ValueError, match="cents must be a number"):
            run.reserve_cost(cents)
        with pytest.raises(ValueError, match="cents must be a number"):
            run.reserve_cost(5, least=cents)
        assert server.requests == []


key = f"gsk_default_{'a' * 40}"
allowed = {"decision": "allow", "reason": "allowed: x", "cents": 5}


@pytest.mark.parametrize(
    "answer",
    [
        http({}),
        http(b"[]"),
        http(b"no JSON"),
        http({"decision": "allow", "reason": "allowed: x"}),
        http({"decision": "allow", "reason": "allowed: x", "cents": "5"}),
        http(allowed, "500 Internal Server Error"),
        http({"decision": "deny"}),
        http(b"[" * 100_000),
        http({**allowed, "filler": "x" * 100_000}),
        http(b"", "302 Found", "location: http://127.0.0.1:1/"),
    ],
)
def test_an_answer_that_does_not_say_so_reserves_nothing(answer: bytes) -> None:
    with stand_in(answering(answer)) as server, connect(sidecar=server.address, key=key) as gate:
        assert denial(gate.run(agent="a", tier="api"), 5).kind == "unavailable"
        with pytest.raises(CostDenied):
            asyncio.run(_reserve_in_loop(gate))


async def _reserve_in_loop(gate: Gate) -> Cost:
    try:
        return await gate.run(agent="a", tier="api").areserve_cost(5)
    finally:
        await gate.aclose()


def test_without_an_answer_a_cost_can_be_settled_again() -> None:
    answers = [http(allowed), b"", http({**allowed, "cents": 4})]

    def handle(connection: socket.socket, _: bytes) -> None:
        answer = answers.pop(0)
        if answer == b"":
            connection.shutdown(socket.SHUT_RDWR)
        else:
            connection.sendall(answer)

    with stand_in(handle) as server, connect(sidecar=server.address, key=key) as gate:
        cost = gate.run(agent="a", tier="api").reserve_cost(5)
        with pytest.raises(CostDenied) as caught:
            cost.settle(4)
        assert caught.value.kind == "unavailable"
        cost.settle(4)
        reserve, lost, repeated = server.bodies()
    assert lost == repeated
    assert (lost["action"], lost["cost_id"], lost["cents"]) == ("settle", reserve["cost_id"], 4)


def test_a_block_does_not_hide_the_error_in_it_if_the_sidecar_is_away() -> None:
    with stand_in(answering(http(allowed))) as server, connect(sidecar=server.address, key=key) as gate:
        cost = gate.run(agent="a", tier="api").reserve_cost(5)
    with pytest.raises(ZeroDivisionError), cost:
        raise ZeroDivisionError


def test_a_denial_survives_a_pickle() -> None:
    error = CostDenied(kind="terminal", code="cap_budget", reason="cap_budget: x", stopped=True)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (again.kind, again.code, again.stopped, str(again)) == ("terminal", "cap_budget", True, str(error))


@pytest.mark.parametrize("cents", [6, 5.00001, -1, 1e300, True, None, "5", [5]])
def test_an_answer_with_more_than_was_asked_for_reserves_nothing(cents: object) -> None:
    with (
        stand_in(answering(http({**allowed, "cents": cents}))) as server,
        connect(sidecar=server.address, key=key) as gate,
    ):
        error = denial(gate.run(agent="a", tier="api"), 5)
    assert (error.kind, error.code) == ("unavailable", "answer_invalid")


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1" + b"0" * 400, b"1" + b"0" * 5_000])
def test_an_answer_whose_cents_are_no_finite_number_reserves_nothing(number: bytes) -> None:
    answer = http(b'{"decision": "allow", "reason": "allowed: x", "cents": ' + number + b"}")
    with stand_in(answering(answer)) as server, connect(sidecar=server.address, key=key) as gate:
        assert denial(gate.run(agent="a", tier="api"), 5).code == "answer_invalid"


def test_an_answer_with_less_than_the_least_reserves_nothing() -> None:
    with stand_in(answering(http({**allowed, "cents": 2}))) as server, connect(sidecar=server.address, key=key) as gate:
        run = gate.run(agent="a", tier="api")
        assert run.reserve_cost(5, least=2).cents == 2
        with pytest.raises(CostDenied, match="answer_invalid"):
            run.reserve_cost(5, least=3)
        with pytest.raises(CostDenied, match="answer_invalid"):
            run.reserve_cost(5)


@pytest.mark.parametrize("more", [{"kind": "retry"}, {"stopped": "max_budget"}, {"action": "block"}, {"error": "x"}])
def test_an_answer_that_allows_and_denies_a_cost_reserves_nothing(more: dict[str, object]) -> None:
    with stand_in(answering(http({**allowed, **more}))) as server, connect(sidecar=server.address, key=key) as gate:
        assert denial(gate.run(agent="a", tier="api"), 5).code == "answer_invalid"
