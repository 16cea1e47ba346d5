"""
The two requests of the hook endpoint, as flows: `decide` before a call, `report` after it. A flow ends with a permit or
an output only for an answer that says so in the exact form. Anything else is `ToolDenied`.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import quote

from ._answer import NotUnderstood, fields_of, number_in
from ._connection import Answer, NoAnswer, Request
from ._denied import Kind, NoForm, RedactedError, ToolDenied
from ._plain import Form, Json, form_of, json_text, plain_failure, restored
from ._trace import trace_headers
from ._transport import Flow

held_ms_max = 50_000
"""The longest time that the endpoint holds one request."""

_use_bytes_max = 4 * 1024 * 1024
_output_bytes_max = 32 * 1024 * 1024


@dataclass(frozen=True)
class Permit:
    """
    A call that may be made, with `input` and nothing else. Its outcome is reported once. `call`: what was asked, which
    its report repeats. `timeout_s`: for the answer to the report.
    """

    tool: str
    input: dict[str, Any]
    request_id: str
    reason: str
    call: dict[str, Json]
    timeout_s: float


@dataclass(frozen=True)
class Asking:
    """How a call is asked about. `timeout_s`: for each answer. `wait_s`: for a person. `is_aborted`: ends that wait."""

    tool: str
    timeout_s: float
    wait_s: float
    is_aborted: Callable[[], bool]


def decide(how: Asking, caller: Mapping[str, Json], shown: Form) -> Flow[Permit]:
    """
    Asks whether a call may be made. If policy asks a person, the same call is asked again, each time held by the
    sidecar, until there is an answer, or `wait_s` or the wait of the rule is over. `shown.copy` must be a dict.
    """
    call: dict[str, Json] = {**caller, "tool_name": how.tool, "tool_input": shown.json, "call_id": uuid.uuid4().hex}
    began = time.monotonic()
    # Not held, so that a sidecar that does not answer is noticed soon.
    verdict = yield from _ask(how, call, shown, 0)
    while isinstance(verdict, ToolDenied):
        asked_at = time.monotonic()
        wait_s = how.wait_s if verdict.wait_s is None else min(how.wait_s, verdict.wait_s)
        wait_ms = int(min(held_ms_max, (began + wait_s - asked_at) * 1000))
        if verdict.code != "approval_pending" or wait_ms <= 0:
            raise verdict
        verdict = yield from _ask(how, call, shown, wait_ms)
        if isinstance(verdict, ToolDenied) and time.monotonic() - asked_at < wait_ms / 1000 * 0.95:
            # The sidecar held it for less: it was answered, its rule waits no longer, or too many calls are held.
            raise verdict
    return verdict


def _ask(how: Asking, call: dict[str, Json], shown: Form, wait_ms: int) -> Flow[Permit | ToolDenied]:
    tool = how.tool
    if how.is_aborted():
        return _aborted(tool)
    asked: dict[str, Json] = {**call, "accepts": ["modified_input"]}
    if wait_ms > 0:
        asked["wait_ms"] = wait_ms
    try:
        request = _post(tool, "tool-use", asked, how.timeout_s + wait_ms / 1000, _use_bytes_max)
        answer = yield replace(request, is_held=wait_ms > 0)
        fields = fields_of(answer, "decision")
    except NoAnswer as error:
        return _aborted(tool) if how.is_aborted() else _unanswered(tool, error)
    except NotUnderstood as error:
        raise _invalid(tool, str(error)) from None
    if answer.status != 200 or fields.get("decision") != "allow":
        return _denial(tool, answer.status, fields)
    return _permit(how, call, shown, fields)


def _aborted(tool: str) -> ToolDenied:
    return ToolDenied(tool, kind="aborted", code="wait_aborted", reason="wait_aborted: the caller stopped waiting")


def _permit(how: Asking, call: dict[str, Json], shown: Form, fields: Mapping[str, Any]) -> Permit:
    tool = how.tool
    request_id, reason = fields.get("request_id"), fields.get("reason")
    modified: Any = fields.get("modified_input", shown.json)
    if not isinstance(request_id, str) or not isinstance(reason, str) or not isinstance(modified, dict):
        raise _invalid(tool, "it allows a call in a form that is not known")
    try:
        given = restored(cast("dict[str, Json]", modified), shown)
    except Exception as error:
        # For example a tuple, or a model, that does not take the changed value.
        words = (
            str(error)
            if isinstance(error, NoForm)
            else f"redaction changes a value that cannot be put together: {error}"
        )
        raise ToolDenied(
            tool,
            kind="terminal",
            code="redaction_unsupported",
            reason=f"redaction_unsupported: {words}",
            request_id=request_id,
        ) from None
    return Permit(tool=tool, input=given, request_id=request_id, reason=reason, call=call, timeout_s=how.timeout_s)


@dataclass(frozen=True)
class Unformed:
    """Stands for an output that has no form in JSON, so that it is reported as that and withheld."""

    words: str


def report(permit: Permit, output: object, *, is_error: bool = False) -> Flow[Any]:
    """Reports an output, and ends with what of it may be passed on."""
    try:
        if isinstance(output, Unformed):
            raise NoForm(output.words)
        form = form_of(output, "the output")
    except NoForm as error:
        unreadable = f"redaction_unsupported: {error}"
        yield from _report(permit, "[an output that has no form in JSON]", is_error=True)
        raise ToolDenied(
            permit.tool, kind="terminal", code="redaction_unsupported", reason=unreadable, called=True
        ) from None
    modified = yield from _report(permit, form.json, is_error=is_error)
    if modified is None:
        return form.copy
    try:
        return restored(modified[0], form)
    except Exception:
        words = "redaction_unsupported: redaction changes a part of the output that cannot be put together again"
        raise ToolDenied(
            permit.tool, kind="terminal", code="redaction_unsupported", reason=words, called=True
        ) from None


def report_failure(permit: Permit, error: BaseException) -> Flow[BaseException]:
    """Reports an exception of the tool, and ends with the one that the caller of the tool receives."""
    failure = plain_failure(error)
    modified = yield from _report(permit, failure.json, is_error=True)
    if modified is None and failure.is_whole:
        return error
    changed = failure.json if modified is None else modified[0]
    message = changed.get("message") if isinstance(changed, dict) else changed
    return RedactedError(message if isinstance(message, str) else "", type(error).__name__)


def _report(permit: Permit, output: Json, *, is_error: bool) -> Flow[tuple[Json] | None]:
    """Ends with the redacted output, or with None if the output passes as it is."""
    tool = permit.tool
    body: dict[str, Json] = {**permit.call, "tool_output": output, "is_error": is_error}
    try:
        answer = yield _post(tool, "tool-output", body, permit.timeout_s, _output_bytes_max)
        fields = fields_of(answer, "action")
    except NoAnswer as error:
        raise _unanswered(tool, error, called=True) from None
    except NotUnderstood as error:
        raise _invalid(tool, str(error), called=True) from None
    except ToolDenied as denied:
        raise ToolDenied(tool, kind=denied.kind, code=denied.code, reason=denied.reason, called=True) from None
    action = fields.get("action") if answer.status == 200 else None
    if action == "pass":
        return None
    if action == "redact" and "modified_output" in fields:
        modified: Json = fields["modified_output"]
        # Both names of it are read by some client, so they have one value.
        if fields.get("tool_output", modified) != modified:
            raise _invalid(tool, "modified_output and tool_output differ", called=True)
        return (modified,)
    raise _denial(tool, answer.status, fields, called=True)


def _post(tool: str, name: str, body: dict[str, Json], timeout_s: float, bytes_max: int) -> Request:
    try:
        encoded = json_text(body)
    except ValueError as error:
        # An integer of thousands of digits, or a name with an unpaired surrogate.
        words = f"call_malformed: the call cannot be written as JSON ({type(error).__name__})"
        raise ToolDenied(tool, kind="terminal", code="call_malformed", reason=words) from None
    return Request("POST", f"/govern/{name}", encoded, timeout_s, bytes_max, trace_headers())


def _denial(tool: str, status: int, fields: Mapping[str, Any], *, called: bool = False) -> ToolDenied:
    """Reads a denial. A part in another form is left out. Without a reason the answer is no denial of Tollgate."""
    reason = fields.get("reason")
    is_denial = fields.get("decision") == "deny" or fields.get("action") == "block"
    if not is_denial or not isinstance(reason, str):
        return _invalid(tool, f"it has status {status} and no decision", called=called)
    approval_id, request_id = fields.get("approval_id"), fields.get("request_id")
    return ToolDenied(
        tool,
        kind=_kind_of(status, fields),
        code=_code_in(reason),
        reason=reason,
        approval_id=approval_id if isinstance(approval_id, str) else None,
        retry_after=_seconds_in(fields, "retryAfterMs"),
        wait_s=_seconds_in(fields, "waitMs"),
        request_id=request_id if isinstance(request_id, str) else None,
        remedies=_remedies_in(fields),
        called=called,
    )


def _seconds_in(fields: Mapping[str, Any], name: str) -> float | None:
    ms = number_in(fields, name)
    return None if ms is None else ms / 1000


def _remedies_in(fields: Mapping[str, Any]) -> list[Mapping[str, object]]:
    remedies: object = fields.get("remedies")
    if not isinstance(remedies, list):
        return []
    return [cast("dict[str, object]", one) for one in cast("list[object]", remedies) if isinstance(one, dict)]


def _kind_of(status: int, fields: Mapping[str, Any]) -> Kind:
    if status >= 500:
        return "unavailable"
    kind = fields.get("kind")
    if kind in ("terminal", "retry"):
        return cast("Kind", kind)
    return "terminal" if fields.get("retryAfterMs") is None else "retry"


def _code_in(reason: str) -> str:
    """Returns the code of a reason. What audit mode says stands before it, each with its own colon."""
    codes = [code for code in _codes.findall(reason) if not code.startswith("would_")]
    return codes[0] if codes else "denied"


_codes = re.compile(r"(?:^|; )([a-z]+(?:_[a-z]+)*): ")


def _unanswered(tool: str, error: NoAnswer, *, called: bool = False) -> ToolDenied:
    reason = f"sidecar_unavailable: {error}"
    return ToolDenied(tool, kind="unavailable", code="sidecar_unavailable", reason=reason, called=called)


def _invalid(tool: str, words: str, *, called: bool = False) -> ToolDenied:
    reason = f"answer_invalid: the answer is not one of Tollgate: {words}"
    return ToolDenied(tool, kind="unavailable", code="answer_invalid", reason=reason, called=called)


def read_approval(approval_id: str, timeout_s: float) -> Generator[Request, Answer, Mapping[str, Any] | None]:
    """Reads what has become of an approval. None: this key has asked for no such approval. Raises `NoAnswer`."""
    path = f"/govern/approvals/{quote(approval_id, safe='')}"
    answer = yield Request("GET", path, None, timeout_s, _use_bytes_max, trace_headers())
    if answer.status == 404:
        return None
    if answer.status != 200:
        raise NoAnswer(f"the answer has status {answer.status}")
    try:
        return fields_of(answer, "state")
    except NotUnderstood as error:
        raise NoAnswer(f"the answer is not one of Tollgate: {error}") from None
