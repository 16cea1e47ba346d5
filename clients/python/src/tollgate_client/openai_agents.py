"""
The adapter for the OpenAI Agents SDK. `govern` guards the tools of an agent, `govern_server` those of an MCP server
that the SDK calls itself, and `Handoffs` follows who acts. What runs at the provider, such as web search, cannot be
held.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any, cast
from weakref import WeakKeyDictionary

from agents import (
    AgentBase,
    FunctionTool,
    RunContextWrapper,
    RunHooks,
    Tool,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
)
from agents.mcp import MCPServer
from agents.tool_context import ToolContext
from mcp.types import CallToolResult

from ._adapter import Governing, OnDenied, readable, undecided
from ._denied import ToolDenied
from ._outcome import Shown
from ._pydantic import json_of
from ._run import Run, acting_run

# The attribute of the context of a call that names its run, where an agent has taken over.
_hop = "_tollgate_run"


def govern(tools: Iterable[Tool], run: Run | None = None, *, on_denied: OnDenied = "tell") -> list[Tool]:
    """
    Returns the tools in a form that asks before each call. `run`: whose calls they are; None: those of the current run.
    `on_denied`: "tell" is a denial that the model reads as the result, "raise" is `ToolDenied`, which ends the run of
    the SDK. An agent as a tool acts for the run by delegation.

    Raises `ValueError` for a tool that is no `FunctionTool`: it runs at the provider, or in a way that asks no one.
    """
    how = Governing(run, on_denied)
    return [_governed(how, tool) for tool in tools]


def _governed(how: Governing, tool: Tool) -> FunctionTool:
    if not isinstance(tool, FunctionTool):
        raise ValueError(f"the tool {tool.name!r} is no FunctionTool, so its calls cannot be decided: leave it out")
    original = tool.on_invoke_tool
    as_agent = getattr(tool, "_agent_instance", None)

    def begun(ctx: ToolContext[Any], input: str) -> tuple[dict[str, Any], Run, Run | None]:
        try:
            acts: Run = getattr(ctx, _hop, None) or how.run_for(tool.name)
            return _arguments(tool.name, input), acts, None if as_agent is None else acts.delegate(as_agent.name)
        except Exception as error:
            raise undecided(tool.name, error) from None

    async def invoke(ctx: ToolContext[Any], input: str) -> Any:
        async def make(given: dict[str, Any]) -> Any:
            # Not the text of the model, in which a name may stand twice.
            decided = json.dumps(given)
            # A tool may read its arguments there too.
            ctx.tool_arguments = decided
            called = getattr(ctx, "tool_call", None)
            if called is not None:
                ctx.tool_call = called.model_copy(update={"arguments": decided})
            return await original(ctx, decided)

        try:
            sent, acts, inside = begun(ctx, input)
            show = _shown_json if _reads_json(ctx) else _shown
            return await how.acall(tool.name, sent, make, show, acts, inside)
        except ToolDenied as denied:
            return how.told(denied)

    governed = copy.copy(tool)
    governed.on_invoke_tool = invoke
    return governed


def _arguments(tool: str, text: str) -> dict[str, Any]:
    try:
        given: object = json.loads(text) if text else {}
    except Exception:
        # Also a text that is nested too deep.
        given = None
    if isinstance(given, dict):
        return cast("dict[str, Any]", given)
    words = "call_malformed: the arguments are no JSON object"
    raise ToolDenied(tool, kind="terminal", code="call_malformed", reason=words)


def _shown(output: Any) -> Shown[Any]:
    """Shows what the SDK makes of an output for the model: a text, or parts with a type."""
    parts = cast("list[Any]", output if isinstance(output, (list, tuple)) else [output])
    if not any(isinstance(part, _parts) for part in parts):
        return Shown(readable(output, str))
    shown = [_part(part) for part in parts]
    return Shown(shown if parts is output else shown[0])


_parts = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)


def _part(part: Any) -> Any:
    return part.model_dump(mode="json", exclude_none=True) if isinstance(part, _parts) else readable(part, str)


def _shown_json(output: Any) -> Shown[Any]:
    return Shown(readable(output, json_of))


def _reads_json(ctx: ToolContext[Any]) -> bool:
    """Whether a program at the provider made the call. It reads JSON."""
    caller = getattr(getattr(ctx, "tool_call", None), "caller", None)
    return getattr(caller, "type", None) == "program"


def govern_server(server: MCPServer, run: Run | None = None, *, on_denied: OnDenied = "tell") -> MCPServer:
    """
    Returns the same server, which from now on asks before each call of a tool, under the name `server.tool`. Retries
    that the server object makes by itself (`max_retry_attempts`) belong to one call.
    """
    how = Governing(run, on_denied)
    original = server.call_tool

    async def call_tool(tool_name: str, arguments: dict[str, Any] | None, *args: Any, **named: Any) -> CallToolResult:
        async def make(given: dict[str, Any]) -> CallToolResult:
            return await original(tool_name, given, *args, **named)

        try:
            return await how.acall(f"{server.name}.{tool_name}", arguments or {}, make, Shown)
        except ToolDenied as denied:
            text = {"type": "text", "text": how.told(denied)}
            return CallToolResult.model_validate({"content": [text], "isError": True})

    server.call_tool = call_tool  # type: ignore[method-assign]
    return server


class Handoffs(RunHooks[Any]):
    """
    Makes a handoff a hop of the chain: governed tools of the agent that takes over act for it, by delegation from the
    run of the agent before. Pass one object as `hooks=` of a run of the SDK.
    """

    def __init__(self, run: Run | None = None) -> None:
        self._run = run
        # By the run around the SDK's, then by the name of the agent.
        self._runs: WeakKeyDictionary[Run, dict[str, Run]] = WeakKeyDictionary()

    async def on_handoff(
        self, context: RunContextWrapper[Any], from_agent: AgentBase[Any], to_agent: AgentBase[Any]
    ) -> None:
        base = self._base()
        if base is not None:
            runs = self._runs.setdefault(base, {})
            runs[to_agent.name] = runs.get(from_agent.name, base).delegate(to_agent.name)

    async def on_tool_start(self, context: RunContextWrapper[Any], agent: AgentBase[Any], tool: Tool) -> None:
        base = self._base()
        hop = None if base is None else self._runs.get(base, {}).get(agent.name)
        if hop is not None:
            setattr(context, _hop, hop)

    def _base(self) -> Run | None:
        try:
            return acting_run("", self._run)
        except ToolDenied:
            # Calls outside of any run are denied when they are made.
            return None
