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
from typing import Any, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_ai import CallDeferred, ModelRetry, RunContext, ToolFailed
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, WrapOutputProcessHandler
from pydantic_ai.exceptions import ApprovalRequired, SkipToolExecution, ToolRetryError
from pydantic_ai.messages import ToolReturn, ToolReturnContent, UserContent, is_multi_modal_content
from pydantic_ai.output import OutputContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_core import PydanticSerializationError

from ._adapter import Governing, OnDenied, hop_to, readable
from ._denied import NoForm, RedactedError, ToolDenied
from ._outcome import Shown
from ._plain import form_of
from ._pydantic import json_of
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
        call = _Call(lambda given: handler(given["output"]), _shown_result)
        # An output function has no result for the model, which can only be asked to try again.
        return await call.made(self.governing, tool, {"output": output}, ModelRetry)


@dataclass
class _GovernedToolset(WrapperToolset[Any]):
    governing: Governing

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        call = _Call(lambda given: self.wrapped.call_tool(name, given, ctx, tool), _shown)
        return await call.made(self.governing, name, tool_args, ToolFailed)


class _Call:
    """One call, from its decision to what the model is told."""

    def __init__(self, function: Callable[[dict[str, Any]], Awaitable[Any]], show: Callable[[Any], Shown[Any]]) -> None:
        self._function = function
        self._show = show
        self._raised: type[ModelRetry] | type[ToolFailed] | None = None

    async def made(
        self, governing: Governing, tool: str, given: dict[str, Any], told_as: type[ToolFailed] | type[ModelRetry]
    ) -> Any:
        """Makes the call if it is permitted. A denial is raised as `told_as`, unless it is to be raised itself."""
        try:
            passed = await governing.acall(tool, given, self._made, self._show)
        except ToolDenied as denied:
            told: Exception = told_as(governing.told(denied))
        except RedactedError as error:
            told = error if self._raised is None else self._raised(str(error))
        else:
            if isinstance(passed, _deferring):
                raise passed
            return passed
        # Not inside of `except`: the context of what is raised would be shown in traces.
        raise told

    async def _made(self, given: dict[str, Any]) -> Any:
        """Calls the tool. What it raises is what the model would read of that."""
        try:
            return await self._function(given)
        except SkipToolExecution as skipped:
            return skipped.result
        except _deferring as deferred:
            return deferred
        except (ModelRetry, ToolFailed) as error:
            self._raised = ToolFailed if isinstance(error, ToolFailed) else ModelRetry
            raise
        except (ValidationError, ToolRetryError) as error:
            self._raised = ModelRetry
            retry = ModelRetry(_feedback(error))
        raise retry


_deferring = (CallDeferred, ApprovalRequired)
_as_base64 = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
_any: TypeAdapter[Any] = TypeAdapter(Any, config=_as_base64)
_value: TypeAdapter[Any] = TypeAdapter(ToolReturnContent, config=_as_base64)
_content: TypeAdapter[Any] = TypeAdapter(UserContent, config=_as_base64)


def _feedback(error: ValidationError | ToolRetryError) -> str:
    """Returns what Pydantic AI shows its model of an error that has it call again."""
    details: Any = (
        error.errors(include_url=False, include_context=False)
        if isinstance(error, ValidationError)
        else error.tool_retry.content
    )
    return details if isinstance(details, str) else _any.dump_json(details, fallback=str).decode()


def _shown(output: Any) -> Shown[Any]:
    """Shows what the model reads of a result of a tool."""
    if isinstance(output, _deferring):
        return Shown("[deferred]", lambda _: output)
    if not isinstance(output, ToolReturn):
        return _parts(output, _value)
    whole: ToolReturn[Any] = output  # pyright: ignore[reportUnknownVariableType]
    value, content = _parts(whole.return_value, _value), _parts(whole.content, _content)
    return Shown(
        {"return_value": value.value, "content": content.value},
        lambda passed: replace(
            whole, return_value=value.restored(passed["return_value"]), content=content.restored(passed["content"])
        ),
    )


def _parts(read: Any, adapter: TypeAdapter[Any]) -> Shown[Any]:
    """`adapter`: of the parts that are no plain values, such as files."""
    if isinstance(read, (list, tuple)):
        parts = [_part(one, adapter) for one in cast("Sequence[Any]", read)]
        return Shown(
            [part.value for part in parts],
            lambda passed: [part.restored(one) for part, one in zip(parts, passed, strict=True)],
        )
    return _part(read, adapter)


def _part(read: Any, adapter: TypeAdapter[Any]) -> Shown[Any]:
    if adapter is _value and not is_multi_modal_content(read):
        return Shown(readable(read, json_of))
    return _shown_result(read, adapter)


def _shown_result(output: Any, adapter: TypeAdapter[Any] = _value) -> Shown[Any]:
    """Shows what is no result for the model, by its fields; or, such as an image, as Pydantic AI sends it."""
    try:
        form_of(output)
    except NoForm:
        with contextlib.suppress(PydanticSerializationError):
            shown = _any.dump_python(output, mode="json")
            return Shown(shown, lambda passed: output if passed == shown else adapter.validate_json(json.dumps(passed)))
    return Shown(output)
