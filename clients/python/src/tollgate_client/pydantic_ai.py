"""
Pydantic AI 2: a capability that decides the tool calls of an agent.

It wraps the toolset that Pydantic AI puts together for a run, so it holds function tools, MCP servers and all other
toolsets, after every hook of other capabilities. Output functions are held by a hook of their own.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic_ai import CallDeferred, ModelRetry, RunContext, ToolFailed
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, WrapOutputProcessHandler
from pydantic_ai.exceptions import ApprovalRequired, SkipToolExecution, ToolRetryError
from pydantic_ai.messages import ToolReturn, ToolReturnContent, UserContent
from pydantic_ai.output import OutputContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_core import PydanticSerializationError

from ._adapter import Governing, OnDenied, Shown, hop_to
from ._denied import NoForm, RedactedError, ToolDenied
from ._plain import form_of
from ._run import Run

__all__ = ["govern"]


def govern(run: Run | None = None, *, on_denied: OnDenied = "tell") -> AbstractCapability[Any]:
    """
    Returns a capability for `Agent(capabilities=[…])`, or for one run of an agent. `run`: decides the calls; default:
    the current run at each call, and for an agent that a tool of another governed agent runs, one hop further in the
    chain. `on_denied`: `tell` gives the model the denial as a failed result; `raise` ends the agent with `ToolDenied`.
    """
    return _Govern(governing=Governing(run, on_denied), follows=run is None, on_denied=on_denied)


@dataclass(kw_only=True)
class _Govern(AbstractCapability[Any]):
    governing: Governing
    follows: bool
    """Whether its calls belong to the current run."""
    on_denied: OnDenied
    # One in an agent, so that a call is not decided twice.
    id: str | None = "tollgate"

    def get_ordering(self) -> CapabilityOrdering:
        # What is decided must be what the tool gets: no other capability may change it afterwards.
        return CapabilityOrdering(position="innermost")

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        if not self.follows:
            return self
        name = None if ctx.agent is None else ctx.agent.name
        hop = hop_to(name or "agent")
        return self if hop is None else replace(self, governing=Governing(hop, self.on_denied), follows=False)

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return _GovernedToolset(toolset, self.governing)

    async def wrap_output_process(
        self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any, handler: WrapOutputProcessHandler
    ) -> Any:
        if not output_context.has_function:
            return await handler(output)
        if ctx.partial_output:
            # A call is decided whole. A stream leaves out a partial output that is to be tried again.
            raise ModelRetry("The output is not complete.")
        called = None if output_context.tool_call is None else output_context.tool_call.tool_name
        tool = output_context.function_name or called or "output"
        call = _Call(lambda given: handler(given["output"]))
        # An output function has no result for the model, which can only be asked to try again.
        return await call.made(self.governing, tool, {"output": output}, ModelRetry)


@dataclass
class _GovernedToolset(WrapperToolset[Any]):
    governing: Governing

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        call = _Call(lambda given: self.wrapped.call_tool(name, given, ctx, tool))
        return await call.made(self.governing, name, tool_args, ToolFailed)


class _Call:
    """One call, from its decision to what the model is told."""

    def __init__(self, function: Callable[[dict[str, Any]], Awaitable[Any]]) -> None:
        self._function = function
        self._output: Any = None
        self._has_plain_form = True
        self._failure: Exception | None = None

    async def made(
        self, governing: Governing, tool: str, given: dict[str, Any], told_as: type[ToolFailed] | type[ModelRetry]
    ) -> Any:
        """Makes the call if it is permitted. A denial is raised as `told_as`, unless it is to be raised itself."""
        try:
            passed = await governing.acall(tool, given, self._shown, lambda shown: Shown(shown, lambda passed: passed))
            if isinstance(self._failure, (CallDeferred, ApprovalRequired)):
                raise self._failure
            return self._restored(tool, passed)
        except ToolDenied as denied:
            told: Exception = told_as(governing.told(denied))
        except RedactedError as error:
            told = self._retold(error)
        # Not inside of `except`: the context of what is raised would be shown in traces.
        raise told

    async def _shown(self, given: dict[str, Any]) -> Any:
        """Calls the tool, and returns what of its output the model would read."""
        try:
            self._output = await self._function(given)
        except SkipToolExecution as skipped:
            self._output = skipped.result
        except (CallDeferred, ApprovalRequired) as deferred:
            self._failure = deferred
            return "[deferred]"
        except Exception as error:
            self._failure = error
            raise
        read = self._output
        if isinstance(read, ToolReturn):
            read = {"return_value": read.return_value, "content": read.content}
        try:
            form_of(read)
        except NoForm:
            # Such as an image: in the form that Pydantic AI sends it in.
            self._has_plain_form = False
            with contextlib.suppress(PydanticSerializationError):
                return _any.dump_python(read, mode="json")
        return read

    def _restored(self, tool: str, passed: Any) -> Any:
        output = self._output
        try:
            if isinstance(output, ToolReturn):
                value, content = passed["return_value"], passed["content"]
                if not self._has_plain_form:
                    value, content = _read_again(_value, value), _read_again(_content, content)
                whole: ToolReturn[Any] = output  # pyright: ignore[reportUnknownVariableType]
                return replace(whole, return_value=value, content=content)
            return passed if self._has_plain_form else _read_again(_value, passed)
        except ValueError:
            words = "redaction_unsupported: redaction changes a part of the output that cannot be put together again"
        raise ToolDenied(tool, kind="terminal", code="redaction_unsupported", reason=words, called=True)

    def _retold(self, error: RedactedError) -> Exception:
        if isinstance(self._failure, (ModelRetry, ToolRetryError)):
            return ModelRetry(str(error))
        return ToolFailed(str(error)) if isinstance(self._failure, ToolFailed) else error


_as_base64 = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
_any: TypeAdapter[Any] = TypeAdapter(Any, config=_as_base64)
_value: TypeAdapter[Any] = TypeAdapter(ToolReturnContent, config=_as_base64)
_content: TypeAdapter[Any] = TypeAdapter(str | Sequence[UserContent] | None, config=_as_base64)


def _read_again(adapter: TypeAdapter[Any], value: Any) -> Any:
    return adapter.validate_json(json.dumps(value))
