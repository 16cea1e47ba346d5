"""What an answer says: one that contradicts itself is none, and no number or text in it raises another error."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tollgate_client import Run, ToolDenied

from .stand_in import allow, answering, http, stand_in
from .test_bad_sidecars import attempt, gate_at, ways

allowing: dict[str, object] = {**allow}
deny: dict[str, object] = {"decision": "deny", "reason": "policy_denied: x", "kind": "terminal", "request_id": "r"}
of_denials: list[dict[str, object]] = [
    {"error": "x"},
    {"kind": "terminal"},
    {"kind": "retry"},
    {"retryAfterMs": 5},
    {"approval_id": "a"},
    {"waitMs": 5},
    {"remedies": []},
    {"stopped": "max_budget"},
]
of_outputs: list[dict[str, object]] = [{"modified_output": "y"}, {"tool_output": "y"}]
of_inputs: list[dict[str, object]] = [{"decision": "allow"}, {"decision": "deny"}, {"modified_input": {"title": "x"}}]
other_output: list[dict[str, object]] = [{"tool_output": "z"}]
actions: list[dict[str, object]] = [{"action": "pass"}, {"action": "redact"}, {"action": "block"}]


def shown(fields: Mapping[str, object]) -> str:
    return json.dumps(fields)


contradicting_uses: list[dict[str, object]] = [
    *({**allowing, **more} for more in [*of_denials, *of_outputs, *actions]),
    *({**deny, **more} for more in [*of_inputs[2:], *of_outputs, *actions]),
]


@ways
@pytest.mark.parametrize("fields", contradicting_uses, ids=shown)
def test_a_decision_that_contradicts_itself_is_none(fields: dict[str, object], way: str) -> None:
    with stand_in(answering(http(fields))) as server:
        error, called = attempt(server.address, way)
    assert called == []
    assert error is not None
    assert (error.kind, error.code) == ("unavailable", "answer_invalid")


block: dict[str, object] = {"action": "block", "reason": "redaction_unsupported: x"}
redact: dict[str, object] = {"action": "redact", "modified_output": "y", "reason": "allowed: x"}
contradicting_outputs: list[dict[str, object]] = [
    *({"action": "pass", **more} for more in [*of_denials, *of_outputs, *of_inputs]),
    *({**redact, **more} for more in [*of_denials, *of_inputs, *other_output]),
    *({**block, **more} for more in [*of_outputs, *of_inputs]),
    {"action": "redact", "tool_output": "y"},
]


@ways
@pytest.mark.parametrize("fields", contradicting_outputs, ids=shown)
def test_an_answer_about_an_output_that_contradicts_itself_is_none(fields: dict[str, object], way: str) -> None:
    with stand_in(answering(http(allow), http(fields))) as server:
        error, called = attempt(server.address, way)
    assert called == ["x"]
    assert error is not None
    assert (error.kind, error.code, error.called) == ("unavailable", "answer_invalid", True)


@pytest.mark.parametrize(
    "text",
    [
        b'{"decision": "deny", "reason": "a: b", "request_id": "r", "decision": "allow"}',
        b'{"decision": "allow", "reason": "a: b", "request_id": "r", "modified_input": {"title": "x", "title": "y"}}',
    ],
)
def test_a_decision_with_a_key_twice_is_none(text: bytes) -> None:
    with stand_in(answering(http(text), http({"action": "pass"}))) as server:
        error, called = attempt(server.address, "thread")
    assert called == []
    assert error is not None
    assert error.code == "answer_invalid"


def redacted_of(run: Run) -> str:
    @run.guard("t")
    def tool() -> str:
        return "x"

    return tool()


def test_what_a_sidecar_says_of_a_redacted_output_agrees() -> None:
    with (
        stand_in(answering(http(allow), http({**redact, "tool_output": "y"}))) as server,
        gate_at(server.address) as gate,
    ):
        assert redacted_of(gate.run(agent="a", tier="api")) == "y"


numbers = [
    b"1" + b"0" * 400,
    b"1" + b"0" * 5_000,
    b"1e308",
    b"1e999",
    b"-1",
    b"NaN",
    b"Infinity",
    b"true",
    b'"5"',
    b"[]",
    b"{}",
]


@ways
@pytest.mark.parametrize("name", ["retryAfterMs", "waitMs"])
@pytest.mark.parametrize("number", numbers, ids=lambda number: number[:12].decode())
def test_no_number_of_a_denial_raises_another_error(name: str, number: bytes, way: str) -> None:
    text = b'{"decision": "deny", "reason": "approval_pending: x", "kind": "retry", "%s": %s}' % (name.encode(), number)
    with stand_in(answering(http(text))) as server:
        error, called = attempt(server.address, way, wait=0)
        blocked = http(text.replace(b'"decision": "deny"', b'"action": "block"').replace(b', "kind": "retry"', b""))
    assert called == []
    assert error is not None
    assert error.reason != ""
    with stand_in(answering(http(allow), blocked)) as server:
        error, called = attempt(server.address, way)
    assert called == ["x"]
    assert error is not None
    assert error.called


odd: list[object] = [None, True, 0, -1, 1.5, 10**30, "", "x", "\ud800", [], [[]], {}, {"title": None}, {"": 1}]
fields_of_all = [
    "decision",
    "action",
    "reason",
    "kind",
    "request_id",
    "approval_id",
    "retryAfterMs",
    "waitMs",
    "remedies",
]


@pytest.mark.parametrize("name", [*fields_of_all, "modified_input", "modified_output", "tool_output", "findings"])
def test_no_value_of_a_field_raises_another_error(name: str) -> None:
    """Each field has each of some odd values, in each kind of answer to each of the two requests."""
    outcomes: set[str] = set()

    def same(title: str) -> str:
        return title

    def call(run: Run) -> None:
        try:
            run.guard("t")(same)("x")
        except ToolDenied as error:
            outcomes.add(error.code)

    answers = [
        *(http({**of, name: value}) for of in (allow, deny) for value in odd),
        *(answer for of in (redact, block) for value in odd for answer in (http(allow), http({**of, name: value}))),
    ]
    with stand_in(answering(*answers)) as server, gate_at(server.address) as gate:
        run = gate.run(agent="a", tier="api", wait=0)
        while len(server.requests) < len(answers):
            call(run)
    assert outcomes != set()
