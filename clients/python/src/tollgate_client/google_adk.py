"""
Google ADK: a plugin that decides the tool calls of a runner's agents, by the callbacks that ADK makes before and after
each call.
"""

from __future__ import annotations

from collections.abc import Iterable, ValuesView
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

from google.adk.agents import BaseAgent
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from ._adapter import Governing, OnDenied, Unreadable, undecided
from ._denied import RedactedError, ToolDenied
from ._hook import Permit
from ._outcome import Outcome, Shown
from ._pydantic import json_of
from ._run import Run, _current  # pyright: ignore[reportPrivateUsage]

__all__ = ["govern"]


def govern(run: Run | None = None, *, on_denied: OnDenied = "tell") -> BasePlugin:
    """
    Returns a plugin for `Runner(plugins=[…])` or `App(plugins=[…])`; list it first. `run`: of the root agent; default:
    the current run at each call. An agent below the root is as many hops further in the chain, and so is an agent that
    runs as a tool. `on_denied`: `tell` gives the model the denial as the result `{"error": …}`; `raise` ends the runner
    with the `RuntimeError` that ADK makes of any exception of a plugin, caused by `ToolDenied`.
    """
    return _Plugin(Governing(run, on_denied), run is None)


@dataclass(frozen=True)
class _Call:
    """A permitted call. `root`: the run of the root agent of its invocation. `before`: what was current before it."""

    plugin: _Plugin
    invocation_id: str
    root: Run
    run: Run
    permit: Permit
    before: tuple[Run | None, _Call | None]


_calling: ContextVar[_Call | None] = ContextVar("tollgate_adk_calling", default=None)


class _Plugin(BasePlugin):
    def __init__(self, governing: Governing, follows: bool) -> None:
        """`follows`: whether its calls belong to the current run."""
        super().__init__(name="tollgate")
        self._governing = governing
        self._follows = follows
        # ADK passes one context to all callbacks of a call, and forgets it when the call is over or cancelled.
        self._calls: WeakKeyDictionary[ToolContext, _Call] = WeakKeyDictionary()

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        try:
            root = self._root_run(tool, tool_context)
            run = root
            for agent in _path_below_root(tool_context):
                run = run.delegate(agent)
            permit = await run.adecide(tool.name, tool_args)
        except Exception as error:
            return self._told(undecided(tool.name, error))
        tool_args.clear()
        tool_args.update(permit.input)
        before = _current.get(), _calling.get()
        call = _Call(self, tool_context.invocation_id, root, run, permit, before)
        self._calls[tool_context] = call
        _current.set(run)
        _calling.set(call)
        return None

    def _root_run(self, tool: BaseTool, context: ToolContext) -> Run:
        above = _calling.get()
        if above is None or (not self._follows and above.plugin is not self):
            return self._governing.run_for(tool.name)
        if above.invocation_id == context.invocation_id:
            return above.root
        # An agent that runs inside of a call, such as that of AgentTool.
        return above.run.delegate(_agent(context).root_agent.name)

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> Any:
        call = self._ended(tool_context)
        if call is None:
            # It was denied, or another callback answered it.
            return None
        outcome = Outcome[Any]()
        shown = _readable(result)
        outcome.shown = Shown(shown, is_error=_is_error(shown))
        try:
            passed = await outcome.apassed(call.run, call.permit)
        except ToolDenied as denied:
            return self._told(denied)
        if passed == shown and (_has_media(result) or repr(result) == repr(shown)):
            # Other callbacks are not called after one that returns something.
            return None
        return passed if isinstance(result, dict) else {"result": passed}

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        call = self._ended(tool_context)
        if call is None or not isinstance(error, Exception):  # pyright: ignore[reportUnnecessaryIsInstance]
            # A cancelled call has no outcome.
            return None
        outcome = Outcome[Any]()
        outcome.failure = error
        try:
            await outcome.apassed(call.run, call.permit)
        except ToolDenied as denied:
            return self._told(denied)
        except RedactedError as redacted:
            # What is raised here would have the tool's exception as its context, so the model is told instead.
            return {"error": str(redacted)}
        except Exception:
            # The tool's own, which ADK raises.
            return None
        return None

    def _ended(self, context: ToolContext) -> _Call | None:
        call = self._calls.pop(context, None)
        if call is not None:
            _current.set(call.before[0])
            _calling.set(call.before[1])
        return call

    def _told(self, denied: ToolDenied) -> dict[str, Any]:
        return {"error": self._governing.told(denied)}


def _agent(context: ToolContext) -> BaseAgent:
    agent: BaseAgent = context._invocation_context.agent  # type: ignore[assignment]  # pyright: ignore
    return agent


def _path_below_root(context: ToolContext) -> list[str]:
    """Returns the names of the agents from below the root to the one that calls."""
    names: list[str] = []
    agent = _agent(context)
    while agent.parent_agent is not None:
        names.append(agent.name)
        agent = agent.parent_agent
    return names[::-1]


def _is_error(result: object) -> bool:
    if not isinstance(result, dict):
        return False
    fields = cast("dict[str, object]", result)
    return "error" in fields or fields.get("isError") is True


def _readable(result: Any) -> Any:
    """Returns what of a result is reported. Clients of models write what is no JSON each in a way of their own."""
    try:
        return json_of(result)
    except Exception:
        return Unreadable()


def _has_media(result: Any, depth: int = 2) -> bool:
    """Whether ADK takes a part out of the result, such as an image, and sends it in a form of its own."""
    if type(result).__module__.startswith("google.genai."):
        return True
    items: object = cast("dict[object, object]", result).values() if isinstance(result, dict) else result
    return (
        depth > 0
        and isinstance(items, (list, tuple, ValuesView))
        and any(_has_media(one, depth - 1) for one in cast("Iterable[object]", items))
    )
