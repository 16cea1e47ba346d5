"""Adapter for CrewAI: hooks that have each tool call of a crew decided, and redact what tools receive and return."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, cast

from crewai.hooks import (
    HookAborted,
    ToolCallHookContext,
    register_after_tool_call_hook,
    register_before_tool_call_hook,
    unregister_after_tool_call_hook,
    unregister_before_tool_call_hook,
)

from ._adapter import OnDenied, check_on_denied
from ._denied import ToolDenied
from ._hook import Permit
from ._outcome import unexpected
from ._run import Run, current_run


@contextmanager
def govern(run: Run | None = None, *, on_denied: OnDenied = "tell") -> Generator[None]:
    """
    Inside of the block each tool call of a crew, agent or flow is decided. Wait inside of it until a crew ends.

    `run`: default: the run that is current at each call; without one, calls are denied. Each agent is a hop of the
    chain, by its role. `on_denied`: with `raise`, `kickoff` raises `HookAborted` at a denied call, whose cause is
    `ToolDenied`. Raises `ValueError` for any other `on_denied`.
    """
    check_on_denied(on_denied)
    hooks = _Hooks(run, raises=on_denied == "raise")
    _active.append(hooks)
    token = _of_context.set(hooks)
    # CrewAI compares hooks when it removes them, and two bound methods of one object are equal.
    register_before_tool_call_hook(hooks.before)
    register_after_tool_call_hook(hooks.after)
    try:
        yield
    finally:
        unregister_before_tool_call_hook(hooks.before)
        unregister_after_tool_call_hook(hooks.after)
        _active.remove(hooks)
        _of_context.reset(token)


class _Call:
    """
    A call between its two hooks. `input`: the object that both are given. `above`: the call that it is made in. `run`:
    None if there is none. `outcome`: of the decision.
    """

    def __init__(self, context: ToolCallHookContext, above: _Call | None) -> None:
        self.input: dict[str, Any] = context.tool_input
        self.tool: Any = context.tool
        self.above = above
        delegates = context.tool_name in _delegations
        self.role_handed_on = _role_in(context) if delegates else None
        self.run: Run | None = None
        self.outcome: Permit | ToolDenied | None = None
        self._function: Callable[..., Any] | None = None

    def delegators(self) -> tuple[str, ...]:
        above = () if self.above is None else self.above.delegators()
        return (*above, self.role_handed_on) if self.role_handed_on else above

    def allow_once(self) -> None:
        """
        Has the tool's function run once for this call. For models that have no calls of tools, CrewAI calls a function
        that raised several times in a row, and asks its hooks once.
        """
        function: object = getattr(self.tool, "func", None)
        if callable(function):
            self._function = function
            self.tool.func = _once(function)

    def end(self) -> None:
        if self._function is not None:
            self.tool.func = self._function


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function so that later calls have the outcome of the first one."""
    outcome: Future[Any] = Future()

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not outcome.done():
            try:
                outcome.set_result(function(*args, **kwargs))
            except Exception as error:
                outcome.set_exception(error)
        return outcome.result()

    @functools.wraps(function)
    async def called_coroutine(*args: Any, **kwargs: Any) -> Any:
        if not outcome.done():
            try:
                outcome.set_result(await function(*args, **kwargs))
            except Exception as error:
                outcome.set_exception(error)
        return outcome.result()

    return called_coroutine if inspect.iscoroutinefunction(function) else called


# CrewAI's hooks are those of the whole process, and it copies the context into its threads. So the hooks of the
# innermost block around a call decide it, and the others leave it alone.
_of_context: ContextVar[_Hooks | None] = ContextVar("tollgate_crewai", default=None)
_active: list[_Hooks] = []
_innermost: ContextVar[_Call | None] = ContextVar("tollgate_crewai_call", default=None)
# Tools of CrewAI by which an agent hands a task to another.
_delegations = frozenset(["delegate_work_to_coworker", "ask_question_to_coworker"])


class _Hooks:
    def __init__(self, run: Run | None, *, raises: bool) -> None:
        self._run = run
        self._raises = raises
        self._calls: dict[int, _Call] = {}

    def before(self, context: ToolCallHookContext) -> bool | None:
        """Returns False if the call must not be made. CrewAI would make a call whose hook raises."""
        try:
            return self._decide(context) if self._is_asked() else None
        except Exception:
            return False

    def _decide(self, context: ToolCallHookContext) -> bool | None:
        call = self._calls[id(context.tool_input)] = _Call(context, _innermost.get())
        tool = str(context.tool_name)
        try:
            tool = _tool_in(context)
            call.run = self._run_in(context, call, tool)
            permit = call.run.decide(tool, call.input)
            if self not in _active:
                words = "run_ended: the block of the crew is over"
                raise ToolDenied(tool, kind="terminal", code="run_ended", reason=words)
            if permit.input != call.input:
                call.input.clear()
                call.input.update(permit.input)
            call.allow_once()
        except ToolDenied as denied:
            call.outcome = denied
            return False
        except Exception as error:
            call.outcome = unexpected(tool, error)
            return False
        call.outcome = permit
        _innermost.set(call)
        return None

    def after(self, context: ToolCallHookContext) -> str | None:
        """Returns what the model reads. CrewAI calls it for blocked calls too, and ignores what it raises."""
        if not self._is_asked():
            return None
        try:
            text = self._reported(context)
        except ToolDenied as denied:
            if self._raises and not denied.called:
                raise HookAborted(str(denied)) from denied
            text = str(denied)
        except Exception as error:
            text = str(unexpected(str(context.tool_name), error, called=True))
        _replace_answer(context, text)
        return text

    def _reported(self, context: ToolCallHookContext) -> str:
        call = self._calls.pop(id(context.tool_input))
        if call.run is None or not isinstance(call.outcome, Permit):
            raise call.outcome if isinstance(call.outcome, ToolDenied) else RuntimeError("the call was not decided")
        call.end()
        _innermost.set(call.above)
        return str(call.run.report(call.outcome, context.tool_result))

    def _is_asked(self) -> bool:
        hooks = _of_context.get()
        if hooks is None or hooks not in _active:
            # A thread without the context of a block. It is of the only block, or it is denied, by the first.
            return _active[:1] == [self]
        return hooks is self

    def _run_in(self, context: ToolCallHookContext, call: _Call, tool: str) -> Run:
        run = self._run
        if _of_context.get() is not self and len(_active) > 1:
            run = None
        elif run is None:
            with suppress(LookupError):
                run = current_run()
        if run is None:
            words = "run_missing: the tool is called outside of any run"
            raise ToolDenied(tool, kind="terminal", code="run_missing", reason=words)
        above = () if call.above is None else call.above.delegators()
        for role in (*above, _role_in(context)):
            if role and role != run.agent:
                run = run.delegate(role)
        return run


def _tool_in(context: ToolCallHookContext) -> str:
    """Returns the name that the user gave the tool. CrewAI changes it for the model: `github.read` is `github_read`."""
    name: object = getattr(context.tool, "name", None)
    if not isinstance(name, str):
        words = "call_malformed: CrewAI does not know this tool"
        raise ToolDenied(str(context.tool_name), kind="terminal", code="call_malformed", reason=words)
    return name


def _role_in(context: ToolCallHookContext) -> str | None:
    role: object = getattr(context.agent, "role", None)
    return role.strip() if isinstance(role, str) else None


def _replace_answer(context: ToolCallHookContext, text: str) -> None:
    """Replaces what CrewAI has kept of this output, for a tool whose result is the answer of its agent."""
    kept: object = getattr(context.agent, "tools_results", None)
    if isinstance(kept, list):
        for result in cast("list[dict[str, Any]]", kept)[-1:]:
            if result.get("result") == context.tool_result:
                result["result"] = text
