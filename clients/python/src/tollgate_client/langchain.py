"""
The adapter for LangChain and LangGraph: a middleware of agents, whose two methods also fit `ToolNode`, and an
interceptor for the tools of langchain-mcp-adapters.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from langchain.agents.middleware import AgentMiddleware
from langchain.messages import ToolMessage
from langchain.tools.tool_node import ToolCallRequest
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command, Send

from ._adapter import Governing, OnDenied
from ._denied import ToolDenied
from ._outcome import Shown
from ._run import Run

if TYPE_CHECKING:
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest

Result: TypeAlias = "ToolMessage | Command[Any]"


class TollgateMiddleware(AgentMiddleware[Any, Any]):
    """
    Asks before each tool call of an agent that `create_agent` makes. Put it last in the list: the middleware before it,
    such as one that retries, then makes calls that are decided one by one.
    """

    def __init__(self, run: Run | None = None, *, agent: str | None = None, on_denied: OnDenied = "tell") -> None:
        """
        `run`: whose calls they are; None: those of the current run. `agent`: they are made by this agent, to which that
        run delegates. `on_denied`: "tell" is a denial that the model reads as the result, "raise" is `ToolDenied`.
        """
        super().__init__()
        # An interrupt, and a command for the graph around, are raised.
        self._how = Governing(run, on_denied, (GraphBubbleUp,), agent)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        call = request.tool_call
        try:
            result: Result = self._how.call(
                call["name"], call["args"], lambda given: handler(_with_input(request, given)), _shown
            )
            return result
        except ToolDenied as denied:
            return _refusal(request, self._how.told(denied))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        call = request.tool_call
        try:
            result: Result = await self._how.acall(
                call["name"], call["args"], lambda given: handler(_with_input(request, given)), _shown
            )
            return result
        except ToolDenied as denied:
            return _refusal(request, self._how.told(denied))


def _with_input(request: ToolCallRequest, given: dict[str, Any]) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": given})


def _refusal(request: ToolCallRequest, text: str) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error")


class TollgateInterceptor:
    """
    Asks before each call of an MCP tool, under the name `server.tool`. It is one of the `tool_interceptors` of
    `MultiServerMCPClient`, for agents without the middleware, which would ask too. Arguments: as the middleware's.
    """

    def __init__(self, run: Run | None = None, *, agent: str | None = None, on_denied: OnDenied = "tell") -> None:
        self._how = Governing(run, on_denied, (GraphBubbleUp,), agent)

    async def __call__(
        self, request: MCPToolCallRequest, handler: Callable[[MCPToolCallRequest], Awaitable[Any]]
    ) -> Any:
        tool = f"{request.server_name}.{request.name}"
        try:
            return await self._how.acall(
                tool, request.args, lambda given: handler(request.override(args=given)), _shown
            )
        except ToolDenied as denied:
            from mcp.types import CallToolResult, TextContent

            # Not marked as an error: earlier versions of the adapters raise those, which ends the agent.
            return CallToolResult(content=[TextContent(type="text", text=self._how.told(denied))])


# What the model, or another node, may read of a message. Its other fields say to which call it belongs.
_read_fields = ("content", "artifact", "additional_kwargs", "response_metadata")


def _shown(output: Any) -> Shown[Any]:
    if isinstance(output, ToolMessage):
        fields = {name: getattr(output, name) for name in _read_fields if getattr(output, name)}
        return Shown(fields, lambda passed: output.model_copy(update=passed), output.status == "error")
    return Shown(_without_sends(output), _with_sends)


@dataclass(frozen=True)
class _Sent:
    """A `Send` in a form that can be read as JSON."""

    send: str
    arg: Any


def _without_sends(output: Any) -> Any:
    if isinstance(output, (list, tuple)):
        return [_without_sends(one) for one in cast("Iterable[Any]", output)]
    if isinstance(output, Send):
        return _Sent(output.node, output.arg)
    if not isinstance(output, Command):
        return output
    command: Command[Any] = output  # pyright: ignore[reportUnknownVariableType]
    return replace(command, goto=_without_sends(command.goto))


def _with_sends(passed: Any) -> Any:
    if isinstance(passed, list):
        return [_with_sends(one) for one in cast("Iterable[Any]", passed)]
    if isinstance(passed, _Sent):
        return Send(passed.send, passed.arg)
    if isinstance(passed, Command):
        command: Command[Any] = passed  # pyright: ignore[reportUnknownVariableType]
        return replace(command, goto=_with_sends(command.goto))
    return passed
