"""
Reads what an answer says. One that is not strict JSON, or that contradicts itself, says nothing: which half of it is
meant cannot be known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NoReturn, cast

from ._connection import Answer


class NotUnderstood(Exception):
    """The answer is not one of Tollgate. The message says why."""


def fields_of(answer: Answer, outcome: Literal["decision", "action", "state"]) -> Mapping[str, Any]:
    """Returns the fields of an answer. `outcome`: the one that says what was decided. Raises `NotUnderstood`."""
    try:
        fields: object = json.loads(answer.body, object_pairs_hook=_object, parse_constant=_refused)
    except Exception:  # Also a text that is nested too deep, or numbers that are too long.
        fields = None
    if not isinstance(fields, dict):
        raise NotUnderstood(f"it has status {answer.status} and is no JSON object")
    read = cast("dict[str, Any]", fields)
    said = read.get(outcome)
    contrary = read.keys() & _contrary.get(said, frozenset()) if isinstance(said, str) else ()
    if contrary:
        raise NotUnderstood(f"it says {said}, and has {' and '.join(sorted(contrary))}")
    return read


def number_in(fields: Mapping[str, Any], name: str) -> float | None:
    """Returns a finite number from 0, or None for everything else."""
    value: object = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= _largest else None


_largest = 2**53


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key twice")
    return fields


def _refused(constant: str) -> NoReturn:
    raise ValueError(constant)


_about_denials = frozenset(("error", "kind", "retryAfterMs", "approval_id", "waitMs", "remedies", "stopped"))
_about_inputs = frozenset(("decision", "modified_input"))
_about_outputs = frozenset(("modified_output", "tool_output"))

_contrary: Mapping[str, frozenset[str]] = {
    "allow": _about_denials | _about_outputs | {"action"},
    "deny": _about_outputs | {"action", "modified_input"},
    "pass": _about_denials | _about_inputs | _about_outputs,
    "redact": _about_denials | _about_inputs,
    "block": _about_inputs | _about_outputs,
}
"""What an answer with this outcome cannot have besides."""
