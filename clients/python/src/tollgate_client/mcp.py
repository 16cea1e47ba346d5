"""The MCP Python SDK: `govern` decides the tool calls of a client, and `guard` those of a server's own tools."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

from mcp.types import CallToolResult
from pydantic import BaseModel, TypeAdapter

from ._adapter import Governing, OnDenied, readable
from ._denied import RedactedError, ToolDenied
from ._guard import F
from ._guard import guarded as guarded_form
from ._outcome import Shown
from ._pydantic import json_of
from ._run import Run, acting_run, guarding

try:
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError:  # mcp 1
    from mcp.server.fastmcp.exceptions import ToolError  # type: ignore[import-not-found,no-redef]

__all__ = ["govern", "guard"]


class _Caller(Protocol):
    @property
    def call_tool(self) -> Callable[..., Awaitable[Any]]: ...


C = TypeVar("C", bound=_Caller)


def govern(client: C, run: Run | None = None, *, on_denied: OnDenied = "tell") -> C:
    """
    Makes `call_tool` of a `ClientSession`, a `Client` or a `ClientSessionGroup` ask first, and returns the same object.
    `run`: decides the calls; default: the current run at each call. `on_denied`: `tell` returns the denial as a result
    with `isError`; `raise` raises `ToolDenied`. An error of the server whose text is redacted is a `RedactedError`.
    Raises `ValueError` if the object is governed already.
    """
    governing = Governing(run, on_denied)
    call_tool = client.call_tool
    if getattr(call_tool, "is_governed", False):
        raise ValueError("the client is governed already")

    async def asked(name: str, arguments: dict[str, Any] | None = None, *args: Any, **kwargs: Any) -> Any:
        async def call(given: dict[str, Any]) -> BaseModel:
            result: BaseModel = await call_tool(name, None if arguments is None else given, *args, **kwargs)
            return result

        try:
            return await governing.acall(name, arguments or {}, call, _shown)
        except ToolDenied as denied:
            text = governing.told(denied)
        return CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": True})

    asked.is_governed = True  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]
    client.call_tool = asked  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    return client


def _shown(result: BaseModel) -> Shown[BaseModel]:
    shown = result.model_dump(mode="json", by_alias=True, exclude_none=True)

    def restored(passed: Any) -> BaseModel:
        return result if passed == shown else type(result).model_validate(passed)

    return Shown(shown, restored, is_error=shown.get("isError") is True)


def guard(tool: str, *, exclude: Sequence[str] = (), wait: float | None = None) -> Callable[[F], F]:
    """
    As `tollgate_client.guard`, for a function or coroutine below `@server.tool()`: the client reads why a call was
    denied, which the SDK tells of a `ToolError` only. `exclude`: must name a parameter that takes the `Context`.
    """

    def decorated(function: F) -> F:
        show = functools.partial(_shown_of, function)
        how = replace(guarding(tool, lambda: acting_run(tool), exclude, wait, None), show=show)
        guarded: Any = guarded_form(how, function)

        @functools.wraps(guarded)
        async def called_async(*args: Any, **kwargs: Any) -> Any:
            try:
                return await guarded(*args, **kwargs)
            except (ToolDenied, RedactedError) as error:
                told = _told(error)
            raise told

        @functools.wraps(guarded)
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                return guarded(*args, **kwargs)
            except (ToolDenied, RedactedError) as error:
                told = _told(error)
            raise told

        return cast("F", called_async if inspect.iscoroutinefunction(guarded) else called)

    return decorated


def _shown_of(function: Callable[..., Any], output: Any) -> Shown[Any]:
    shown = _shown_output(output)

    def restored(passed: Any) -> Any:
        made = shown.restored(passed)
        if passed != shown.value:
            # For structured content the SDK makes an object of the declared class of it, and JSON of that object.
            declared = inspect.signature(function, eval_str=True).return_annotation
            if declared is inspect.Signature.empty:
                declared = Any
            if json_of(TypeAdapter(declared).validate_python(made)) != json_of(made):
                raise ValueError("the declared class of the output undoes the redaction")
        return made

    return Shown(shown.value, restored)


def _shown_output(output: Any) -> Shown[Any]:
    """Shows what the SDK sends of an output: its JSON, one by one for the items of a list."""
    if isinstance(output, (list, tuple)):
        parts = [_shown_output(one) for one in cast("Sequence[Any]", output)]
        return Shown(
            [part.value for part in parts],
            lambda passed: [part.restored(one) for part, one in zip(parts, passed, strict=True)],
        )
    if isinstance(output, BaseModel) and type(output).__module__.startswith("mcp"):
        return _shown(output)
    shown = readable(output, json_of)
    return Shown(shown, lambda passed: output if passed == shown else passed)


def _told(error: ToolDenied | RedactedError) -> Exception:
    if isinstance(error, RedactedError) and error.name != "ToolError":
        # The SDK hides the text of another exception, or shows the redacted one.
        return error
    return ToolError(str(error))  # pyright: ignore[reportUnknownVariableType]
