"""The errors that callers see. A tool is called only if none of them was raised before."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

Kind = Literal["terminal", "retry", "unavailable", "aborted"]
"""
`terminal`: the same call is denied again until something is changed. `retry`: the same call may be permitted later.
`unavailable`: no decision was reached. `aborted`: the caller stopped waiting for a person.
"""

_reason_length = 2_000

# The sentences about approvals are the same as `askedAdvice` in sidecar/engine/govern/verdict.ts.
_advice: Mapping[str, str] = {
    "approval_pending": "A person must approve this call first. Do not try another way to the same effect. "
    "When the person has answered, make exactly the same call again.",
    "approval_denied": "Do not make the call again, and do not try another way to the same effect; "
    "continue without it or tell the user.",
    "approval_expired": "Do not try another way to the same effect. If the call is still needed, tell the user; "
    "exactly the same call asks a person again.",
    "approvals_full": "Too many calls wait for a person. Do not try another way to the same effect; "
    "wait, or tell the user.",
    "approval_unanswerable": "No one may approve it. Trying again will not help; continue without it or tell the user.",
    "approval_unavailable": "A person must approve this call, and could not be asked. Do not try another way; "
    "try the same call later.",
    "call_malformed": "Correct that and call again, or continue without it.",
}

_advice_by_kind: Mapping[Kind, str] = {
    "terminal": "Trying again will not help; continue without it or tell the user.",
    "retry": "The same call may be permitted later.",
    "unavailable": "No decision was reached; try later or tell the user.",
    "aborted": "The caller stopped waiting.",
}


class ToolDenied(Exception):
    """
    A call was not permitted, or its output was withheld. The message is written for a model.

    `code`: a reason code of Tollgate, or one of this client (`sidecar_unavailable`, `answer_invalid`, `wait_aborted`,
    `run_ended`, `run_missing`). `retry_after`: seconds, if known. `called`: the tool was called, and only its output is
    withheld. `remedies`: what would be allowed instead, as the hook endpoint says it. `wait_s`: how many seconds the
    rule lets a caller wait for a person, if known.
    """

    def __init__(
        self,
        tool: str,
        *,
        kind: Kind,
        code: str,
        reason: str,
        approval_id: str | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
        remedies: Sequence[Mapping[str, object]] = (),
        called: bool = False,
        wait_s: float | None = None,
    ) -> None:
        self.tool = tool
        self.kind: Kind = kind
        self.code = code
        self.reason = reason
        self.approval_id = approval_id
        self.retry_after = retry_after
        self.request_id = request_id
        self.remedies = tuple(remedies)
        self.called = called
        self.wait_s = wait_s
        super().__init__(self._message())

    def _message(self) -> str:
        name = json.dumps(self.tool)
        reason = self.reason[:_reason_length]
        if self.called:
            return (
                f"The call of {name} was made, and its output was withheld: {reason}. Do not repeat it only for that."
            )
        advice = _advice.get(self.code) or _advice_by_kind[self.kind]
        return f"The call of {name} was not made: {reason}. {advice}"

    def __reduce__(self) -> tuple[object, ...]:
        return (_denied_from, (self.tool, {name: getattr(self, name) for name in _fields}))


_fields = ("kind", "code", "reason", "approval_id", "retry_after", "request_id", "remedies", "called", "wait_s")


def _denied_from(tool: str, fields: dict[str, object]) -> ToolDenied:
    return ToolDenied(tool, **fields)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


class RedactedError(Exception):
    """
    A tool raised an exception whose text policy redacts, or that could not be shown whole. This one has the redacted
    text, and nothing else of the original: no cause, no context, no notes. `name`: the name of the original's class.
    """

    def __init__(self, message: str, name: str = "Exception") -> None:
        self.name = name
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return (RedactedError, (str(self), self.name))


class NoForm(ValueError):
    """A value has no form in JSON. The message begins with the path of the value."""
