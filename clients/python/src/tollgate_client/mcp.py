"""The MCP Python SDK: `govern` decides the tool calls of a client, and `guard` those of a server's own tools."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar, cast

from mcp.types import CallToolResult
from pydantic import BaseModel, ValidationError

from ._adapter import Governing, OnDenied, Shown
from ._denied import RedactedError, ToolDenied
from ._guard import F
from ._run import Run
from ._run import guard as guard_function

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
        results: list[BaseModel] = []

        async def call(given: dict[str, Any]) -> Any:
            result: BaseModel = await call_tool(name, None if arguments is None else given, *args, **kwargs)
            results.append(result)
            return _json_of(result)

        try:
            shown = await governing.acall(name, arguments or {}, call, _shown)
            return _result_of(name, shown, results[0])
        except ToolDenied as denied:
            text = governing.told(denied)
        return CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": True})

    asked.is_governed = True  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]
    client.call_tool = asked  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    return client


def _json_of(result: BaseModel) -> Any:
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def _shown(result: Any) -> Shown[Any]:
    return Shown(result, lambda passed: passed, is_error=result.get("isError") is True)


def _result_of(name: str, shown: Any, result: BaseModel) -> BaseModel:
    """Returns the result, with what redaction changed in its JSON."""
    if shown == _json_of(result):
        return result
    try:
        return type(result).model_validate(shown)
    except ValidationError:
        words = "redaction_unsupported: redaction changes a part of the result that cannot be put together again"
    raise ToolDenied(name, kind="terminal", code="redaction_unsupported", reason=words, called=True)


def guard(tool: str, *, exclude: Sequence[str] = (), wait: float | None = None) -> Callable[[F], F]:
    """
    As `tollgate_client.guard`, for a function or coroutine below `@server.tool()`: the client reads why a call was
    denied, which the SDK tells of a `ToolError` only. `exclude`: must name a parameter that takes the `Context`.
    """

    def decorated(function: F) -> F:
        guarded: Any = guard_function(tool, exclude=exclude, wait=wait)(function)

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


def _told(error: ToolDenied | RedactedError) -> Exception:
    if isinstance(error, RedactedError) and error.name != "ToolError":
        # The SDK hides the text of another exception, or shows the redacted one.
        return error
    return ToolError(str(error))  # pyright: ignore[reportUnknownVariableType]
