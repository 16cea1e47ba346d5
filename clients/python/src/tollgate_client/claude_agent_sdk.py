"""
Adapter for the Claude Agent SDK: hooks that have each tool call of an agent decided, those of built-in tools too, and
that redact what tools receive and return.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, cast

from claude_agent_sdk import HookMatcher
from claude_agent_sdk.types import HookContext, HookEvent, HookInput, HookJSONOutput

from ._adapter import OnDenied, check_on_denied
from ._denied import ToolDenied
from ._hook import Permit
from ._outcome import unexpected
from ._run import Run, current_run

_HookFields = Mapping[str, Any]


def hooks(run: Run | None = None, *, on_denied: OnDenied = "tell") -> dict[HookEvent, list[HookMatcher]]:
    """
    Returns the hooks for `ClaudeAgentOptions(hooks=…)`. `run`: default: the run that is current at each call; without
    one, calls are denied. `on_denied`: `raise` ends the turn of the agent at a denied call, in place of an exception,
    which hooks cannot raise in other code. The tool `create_issue` of the MCP server `github` is
    `github.create_issue`. Raises `ValueError` for any other `on_denied`.
    """
    check_on_denied(on_denied)
    calls = _Calls(run, ends_turn=on_denied == "raise")
    return {
        "PreToolUse": [_matcher(calls.before)],
        "PostToolUse": [_matcher(calls.after)],
        "PostToolUseFailure": [_matcher(calls.failed)],
    }


# A hook ends by the timeouts of the client and by the wait for a person. That of the SDK must never be the first.
_hook_timeout_s = 24 * 60 * 60


def _matcher(callback: Callable[[_HookFields], Awaitable[dict[str, Any]]]) -> HookMatcher:
    async def hook(fields: HookInput, _tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        return cast("HookJSONOutput", await callback(cast("_HookFields", fields)))

    return HookMatcher(hooks=[hook], timeout=_hook_timeout_s, on_failure="block")


class _Calls:
    """The calls of one agent and its subagents. A permit is kept from the hook before its call to the one after it."""

    def __init__(self, run: Run | None, *, ends_turn: bool) -> None:
        self._run = run
        self._ends_turn = ends_turn
        self._permits: dict[tuple[str, str], tuple[Run, Permit]] = {}

    async def before(self, fields: _HookFields) -> dict[str, Any]:
        tool = str(fields.get("tool_name"))
        try:
            tool = _tool_in(fields)
            run = self._run_of(fields, tool)
            permit = await run.adecide(tool, fields["tool_input"])
            self._permits[_call_in(fields)] = (run, permit)
        except ToolDenied as denied:
            return self._denial(denied)
        except Exception as error:
            # Claude Code runs a call whose hook fails, if the hook does not say otherwise.
            return self._denial(unexpected(tool, error))
        if permit.input == fields["tool_input"]:
            return {}
        # Without a permissionDecision, so that the permissions of the agent's own user hold too.
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": permit.input}}

    async def after(self, fields: _HookFields) -> dict[str, Any]:
        output = fields.get("tool_response")
        try:
            run, permit = self._permits.pop(_call_in(fields))
            passed = await run.areport(permit, output)
            if passed == output:
                return {}
            if not _has_form_of(output, passed):
                words = "redaction_unsupported: redaction changes the form of the output, which Claude Code refuses"
                raise ToolDenied(permit.tool, kind="terminal", code="redaction_unsupported", reason=words, called=True)
            return _updated(passed)
        except ToolDenied as denied:
            return _updated(_withheld(output, str(denied)))
        except Exception as error:
            return _updated(_withheld(output, str(unexpected(str(fields.get("tool_name")), error, called=True))))

    async def failed(self, fields: _HookFields) -> dict[str, Any]:
        """Reports a call that failed. Claude Code takes no other error for its model, so the answer changes nothing."""
        decided = self._permits.pop(_call_in(fields), None)
        if decided is not None and fields.get("is_interrupt") is not True:
            run, permit = decided
            with suppress(ToolDenied):
                await run.areport(permit, fields.get("error"), is_error=True)
        return {}

    def _run_of(self, fields: _HookFields, tool: str) -> Run:
        run = self._run
        if run is None:
            try:
                run = current_run()
            except LookupError:
                words = "run_missing: the tool is called outside of any run"
                raise ToolDenied(tool, kind="terminal", code="run_missing", reason=words) from None
        # The main thread may have an agent_type too, and no agent_id.
        return run.delegate(fields["agent_type"]) if "agent_id" in fields else run

    def _denial(self, denied: ToolDenied) -> dict[str, Any]:
        text = str(denied)
        deny = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": text}
        ending = {"continue_": False, "stopReason": text} if self._ends_turn else {}
        return {"hookSpecificOutput": deny, **ending}


def _call_in(fields: _HookFields) -> tuple[str, str]:
    return fields["session_id"], fields["tool_use_id"]


def _tool_in(fields: _HookFields) -> str:
    """Returns the name that rules use. Claude Code writes `mcp__github__create_issue` for `github.create_issue`."""
    name: str = fields["tool_name"]
    if not name.startswith("mcp__"):
        return name
    # Newer versions also send the server's name, of which only letters, digits, `_` and `-` are in the tool's name.
    server: object = fields.get("mcp_server", {}).get("name")
    prefix = f"mcp__{_replaced.sub('_', server)}__" if isinstance(server, str) else "mcp__"
    if isinstance(server, str) and name.startswith(prefix):
        return f"{server}.{name.removeprefix(prefix)}"
    return name.removeprefix("mcp__").replace("__", ".", 1)


_replaced = re.compile(r"[^A-Za-z0-9_-]")


def _updated(output: object) -> dict[str, Any]:
    if isinstance(output, dict):
        # These lead to a copy of a long output on disk, which Claude Code would show in place of this one.
        fields = cast("dict[str, object]", output)
        output = {name: item for name, item in fields.items() if not name.startswith("persistedOutput")}
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": output}}


def _has_form_of(output: Any, changed: Any) -> bool:
    """Whether both have the same fields, lengths and types. Claude Code keeps the original output otherwise."""
    if isinstance(output, dict) and isinstance(changed, dict):
        before, after = cast("dict[str, object]", output), cast("dict[str, object]", changed)
        return before.keys() == after.keys() and all(_has_form_of(before[name], after[name]) for name in before)
    if isinstance(output, list) and isinstance(changed, list):
        items, others = cast("list[object]", output), cast("list[object]", changed)
        return len(items) == len(others) and all(map(_has_form_of, items, others))
    return type(cast("object", output)) is type(cast("object", changed))


_form_fields = frozenset(["type", "mode", "status"])
_form_word = re.compile(r"[a-z_]{1,32}")


def _withheld(output: object, reason: str, name: str = "") -> object:
    """Returns an output of the same form, which has the reason in place of each text."""
    if isinstance(output, str):
        tells_form = output == "" or (name in _form_fields and _form_word.fullmatch(output) is not None)
        return output if tells_form else reason
    if isinstance(output, list):
        return [_withheld(item, reason) for item in cast("list[object]", output)]
    if isinstance(output, dict):
        return {key: _withheld(item, reason, key) for key, item in cast("dict[str, object]", output).items()}
    return output
