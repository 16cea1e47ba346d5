"""
Runs the cases of clients/conformance with this client, and says what was not as a case expects it. What the parts of a
case mean: the README there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from tollgate_client import Cost, CostDenied, Gate, Permit, Run, Tier, ToolDenied

from .programs import World, attempts, checkout

Json = dict[str, Any]

folder = checkout / "clients/conformance/cases"
cases: list[Json] = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
last_tool = "conformance.last"

_waits = {"rate_limited", "cap_tool_calls", "approval_unavailable"}
"""Denials that a slow machine can cause: the control plane did not answer in the time that a call waits for it."""


class CaseRun:
    """One case in one session."""

    def __init__(self, gate: Gate, session: str) -> None:
        self.session = session
        self._gate = gate
        self._last: tuple[Run, Permit] | None = None
        self._costs: dict[str, Cost] = {}

    def take(self, step: Json) -> Json:
        for kind, take in (("call", self._call), ("reserve", self._reserve), ("settle", self._settle)):
            if kind in step:
                return take(step[kind])
        return self._output(step["output"], is_error=step.get("isError", False))

    def _run(self, call: Json) -> Run:
        tier: Tier = call.get("tier", "api")
        chain = [*call.get("chain", []), call.get("agent", "conformance")]
        run = self._gate.run(
            agent=chain[0], tier=tier, session=self.session, client=call.get("client", "conformance"), wait=0
        )
        for agent in chain[1:]:
            run = run.delegate(agent, tools=call.get("tools"))
        return run

    def _call(self, call: Json) -> Json:
        run = self._run(call)
        try:
            permit = run.decide(call["tool"], value_of(call["input"]))
        except ToolDenied as error:
            return {
                "decision": "deny",
                "code": error.code,
                "kind": error.kind,
                "reason": error.reason,
                "remedies": list(error.remedies),
                "approval": error.approval_id is not None,
                "retry": error.retry_after is not None,
            }
        self._last = (run, permit)
        return {"decision": "allow", "code": "allowed", "reason": permit.reason, "input": permit.input}

    def _output(self, output: object, *, is_error: bool) -> Json:
        assert self._last is not None
        run, permit = self._last
        try:
            return {"output": run.report(permit, value_of(output), is_error=is_error)}
        except ToolDenied:
            return {}

    def _reserve(self, cost: Json) -> Json:
        try:
            reserved = self._run(cost).reserve_cost(cost["cents"], least=cost.get("least"))
        except CostDenied as error:
            return {"decision": "deny", "code": error.code, "kind": error.kind, "reason": error.reason}
        self._costs[cost["id"]] = reserved
        return {"decision": "allow", "code": "allowed", "cents": reserved.cents}

    def _settle(self, cost: Json) -> Json:
        self._costs[cost["id"]].settle(cost["cents"])
        return {"decision": "allow", "code": "allowed", "cents": cost["cents"]}


def problems_of(case: Json, gate: Gate, world: World, session: str) -> list[str]:
    """Returns the problems; empty: the client does what the case says."""
    run, problems, wanted, approval = CaseRun(gate, session), list[str](), list[tuple[int, Json]](), ""
    for at, step in enumerate(case["steps"]):
        if "person" in step:
            approval = world.pending(session)
            world.answer(approval, step["person"], step["note"])
        elif "until" in step:
            _until(world, approval, step["until"])
        else:
            expected = {**step, **step.get("except", {}).get("python", {})}
            answer, refusals = _taken_in_time(run, step, expected["answer"].get("code"))
            problems += differences(expected["answer"], answer, f"steps[{at}].answer")
            wanted += [(at, {"decision": "deny", "code": code}) for code in refusals]
            if expected.get("entry") is not None:
                wanted.append((at, expected["entry"]))
    if case.get("world") == "no policy":
        return problems
    entries = _entries(run, world)
    if len(entries) != len(wanted):
        problems.append(f"{len(wanted)} entries are expected, there are {json.dumps(entries)}")
    for nth, (at, entry) in enumerate(wanted):
        problems += differences(entry, entries[nth] if nth < len(entries) else None, f"steps[{at}].entry")
    return problems


def _taken_in_time(run: CaseRun, step: Json, code: object) -> tuple[Json, list[str]]:
    """Takes a step again while it is denied only because the control plane was slow; also returns those codes."""
    refusals: list[str] = []
    for _ in attempts():
        answer = run.take(step)
        if answer.get("kind") != "retry" or answer.get("code") not in _waits or answer.get("code") == code:
            return answer, refusals
        refusals.append(answer["code"])
    raise AssertionError(f"the control plane was too slow: {refusals[-1]}")


def _entries(run: CaseRun, world: World) -> list[Json]:
    """Makes a last call, so that an entry that should not be there is found too, and returns those before it."""
    run.take({"call": {"tool": last_tool, "input": {}}})
    for _ in attempts():
        entries = world.entries(run.session, 1)
        if entries[-1]["tool"] == last_tool:
            return entries[:-1]
    raise AssertionError("the last entry did not arrive")


def _until(world: World, approval_id: str, state: str) -> None:
    for _ in attempts():
        if world.bob.get(f"/default/admin/approvals/{approval_id}").json()["state"] == state:
            return
    raise AssertionError(f"the approval is not {state}")


def differences(expected: object, actual: object, path: str) -> list[str]:
    """Says where a value differs from what is expected. A dict may have more keys; `$contains` is a part of a text."""
    shown = f"{path}: expected {expected!r}, is {actual!r}"
    if isinstance(expected, list):
        items = cast("list[object]", expected)
        if not isinstance(actual, list) or len(cast("list[object]", actual)) != len(items):
            return [shown]
        pairs = zip(items, cast("list[object]", actual), strict=True)
        return [one for at, (item, own) in enumerate(pairs) for one in differences(item, own, f"{path}[{at}]")]
    if not isinstance(expected, dict):
        return (
            [] if (type(expected) is type(actual) and expected == actual) or _same_number(expected, actual) else [shown]
        )
    fields = cast("Json", expected)
    if "$contains" in fields:
        return [] if isinstance(actual, str) and fields["$contains"] in actual else [shown]
    if not isinstance(actual, dict):
        return [shown]
    own = cast("Json", actual)
    return [one for name, value in fields.items() for one in differences(value, own.get(name), f"{path}.{name}")]


def _same_number(one: object, other: object) -> bool:
    numbers = (int, float)
    is_bool = isinstance(one, bool) or isinstance(other, bool)
    return isinstance(one, numbers) and isinstance(other, numbers) and not is_bool and one == other


def value_of(value: object) -> Any:
    """Returns the value that a program would pass."""
    if isinstance(value, list):
        return [value_of(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("Json", value)
    if "$" not in fields:
        return {name: value_of(item) for name, item in fields.items()}
    return _special(fields)


def _special(fields: Mapping[str, Any]) -> Any:
    kind = fields["$"]
    if kind in ("nan", "infinity"):
        return float(kind)
    if kind == "surrogate":
        return "\ud800"
    if kind == "integer":
        return int(fields["digits"])
    if kind == "text":
        return "x" * fields["length"]
    assert kind == "levels", f"unknown value {kind!r}"
    value: Any = 0
    for _ in range(fields["count"]):
        value = [value]
    return value
