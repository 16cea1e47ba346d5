"""
Makes the guarded form of a function: it binds the arguments to their names, asks, calls the function with a copy of
what was decided, reports, and returns what of the output may be passed on. The function is not called in any other way.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ._denied import NoForm, ToolDenied
from ._hook import Permit
from ._plain import Form, Json, form_of
from ._transport import Abort

if TYPE_CHECKING:
    from ._run import Run

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Guarding:
    """`run_of` returns the run of a call, or raises `ToolDenied`. `wait_s`: None is what the run says."""

    tool: str
    run_of: Callable[[], Run]
    exclude: Sequence[str]
    wait_s: float | None
    abort: Abort | None


def guarded(how: Guarding, function: F) -> F:
    """Returns the guarded form, of the same kind: function, coroutine, generator or async generator."""
    made: Any = function
    if isinstance(function, staticmethod):
        made = staticmethod(_wrapped(how, cast("staticmethod[..., Any]", function).__func__, has_receiver=False))
    elif isinstance(function, classmethod):
        made = classmethod(_wrapped(how, cast("classmethod[Any, ..., Any]", function).__func__, has_receiver=True))
    else:
        made = _wrapped(how, function, has_receiver=None)
    return cast("F", made)


def _wrapped(how: Guarding, function: Callable[..., Any], *, has_receiver: bool | None) -> Callable[..., Any]:
    tool = _Tool(how, function, has_receiver=has_receiver)
    kind = function
    while isinstance(kind, functools.partial):
        kind = kind.func
    if not inspect.isroutine(kind):
        kind = getattr(kind, "__call__", kind)  # noqa: B004
    if inspect.isasyncgenfunction(kind):
        return _async_generator(tool)
    if inspect.iscoroutinefunction(kind):
        return _coroutine(tool)
    if inspect.isgeneratorfunction(kind):
        return _generator(tool)
    return _function(tool)


class _Tool:
    """A function, and what of its arguments is shown to the sidecar."""

    def __init__(self, how: Guarding, function: Callable[..., Any], *, has_receiver: bool | None) -> None:
        self.how = how
        self.function = function
        self._bound: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        inner = function
        while isinstance(inner, functools.partial):
            self._bound.append((inner.args, inner.keywords))
            inner = inner.func
        self.target: Callable[..., Any] = inner
        self._signature = inspect.signature(inner)
        parameters = self._signature.parameters
        hidden = set(how.exclude)
        takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
        unknown = hidden - parameters.keys()
        if unknown and not takes_any:
            raise ValueError(f"{how.tool}: exclude names {sorted(unknown)}, which are no parameters")
        first = next(iter(parameters), None)
        if first is not None and (_is_receiver(inner, first) if has_receiver is None else has_receiver):
            hidden.add(first)
        self._hidden = hidden

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        """Binds the arguments, with defaults. Raises `TypeError` as the function itself would, and `ToolDenied`."""
        for first, named in self._bound:
            args, kwargs = (*first, *args), {**named, **kwargs}
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        rest = next((one.name for one in self._signature.parameters.values() if one.kind is one.VAR_KEYWORD), None)
        extra: dict[str, Any] = {} if rest is None else bound.arguments.get(rest, {})
        named = {name: value for name, value in bound.arguments.items() if name != rest}
        twice = sorted(extra.keys() & named.keys())
        if twice:
            raise self._malformed(f"the keyword arguments {twice} have the names of parameters")
        shown = {name: value for name, value in {**named, **extra}.items() if name not in self._hidden}
        try:
            # Each argument may be as deep as an input.
            form = form_of(shown, "args")
        except NoForm as error:
            raise self._malformed(f"{error}; pass it in another form, or name the argument in exclude") from None
        return _Call(bound, rest, form)

    def _malformed(self, words: str) -> ToolDenied:
        return ToolDenied(self.how.tool, kind="terminal", code="call_malformed", reason=f"call_malformed: {words}")

    def given(self, call: _Call, permit: Permit) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments that the function is called with: what was decided, and what is not shown."""
        shown = cast("dict[str, Json]", call.form.json)
        values = dict(permit.input)
        if values.keys() != shown.keys():
            words = "redaction_unsupported: redaction changes the name of an argument"
            raise ToolDenied(self.how.tool, kind="terminal", code="redaction_unsupported", reason=words)
        bound, rest = call.bound, call.rest
        for name in bound.arguments:
            if name in values and name != rest:
                bound.arguments[name] = values.pop(name)
        if rest is not None:
            extra: dict[str, Any] = bound.arguments.get(rest, {})
            bound.arguments[rest] = {name: values.get(name, value) for name, value in extra.items()}
        return bound.args, bound.kwargs

    def returned(self, output: object) -> object:
        """Returns the output of a function. Raises `ToolDenied` if it has not run yet, such as a coroutine."""
        closed = output
        if inspect.iscoroutine(closed) or inspect.isgenerator(closed):
            closed.close()
        if inspect.isawaitable(output) or inspect.isgenerator(output) or inspect.isasyncgen(output):
            return _Unfinished(type(output).__name__)
        return output


class _Unfinished:
    """Stands for an output that has no form in JSON, so that it is reported as that and withheld."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


@dataclass(frozen=True)
class _Call:
    """`rest`: the name of the parameter that takes any keywords. `form`: of all arguments that are shown, by name."""

    bound: inspect.BoundArguments
    rest: str | None
    form: Form


def _is_receiver(function: Callable[..., Any], first: str) -> bool:
    """Whether the first parameter is the object or class of a method that is defined in a class body."""
    if inspect.ismethod(function):
        return False
    name: str = getattr(function, "__qualname__", "")
    return first in ("self", "cls") and "." in name.rpartition("<locals>.")[2]


_Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def _make(tool: _Tool, args: tuple[Any, ...], kwargs: dict[str, Any], target: Callable[[_Arguments], Any]) -> Any:
    """Asks, calls `target` with what was decided, and returns what of its output may be passed on."""
    run, call = tool.how.run_of(), tool.bind(args, kwargs)
    permit = run._decide(tool.how, call.form)  # pyright: ignore[reportPrivateUsage]
    given = tool.given(call, permit)
    try:
        output = target(given)
    except Exception as error:
        failure = error
    else:
        return run.report(permit, output)
    # Not inside of `except`: what is raised here would have the tool's exception as its context.
    raise run._report_failure(permit, failure)  # pyright: ignore[reportPrivateUsage]


async def _amake(
    tool: _Tool, args: tuple[Any, ...], kwargs: dict[str, Any], target: Callable[[_Arguments], Awaitable[Any]]
) -> Any:
    """The same in an event loop."""
    run, call = tool.how.run_of(), tool.bind(args, kwargs)
    permit = await run._adecide(tool.how, call.form)  # pyright: ignore[reportPrivateUsage]
    given = tool.given(call, permit)
    try:
        output = await target(given)
    except Exception as error:
        failure = error
    else:
        return await run.areport(permit, output)
    raise await run._areport_failure(permit, failure)  # pyright: ignore[reportPrivateUsage]


def _function(tool: _Tool) -> Callable[..., Any]:
    def target(given: _Arguments) -> object:
        return tool.returned(tool.target(*given[0], **given[1]))

    @functools.wraps(tool.function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return _make(tool, args, kwargs, target)

    return called


def _coroutine(tool: _Tool) -> Callable[..., Any]:
    async def target(given: _Arguments) -> object:
        return tool.returned(await tool.target(*given[0], **given[1]))

    @functools.wraps(tool.function)
    async def called(*args: Any, **kwargs: Any) -> Any:
        return await _amake(tool, args, kwargs, target)

    return called


def _generator(tool: _Tool) -> Callable[..., Any]:
    @functools.wraps(tool.function)
    def called(*args: Any, **kwargs: Any) -> Generator[Any, None, Any]:
        result: Any = None

        def target(given: _Arguments) -> object:
            nonlocal result
            items, result = _collected(tool.target(*given[0], **given[1]))
            return items if result is None else {"items": items, "result": result}

        passed = _make(tool, args, kwargs, target)
        if result is None:
            yield from passed
            return None
        yield from passed["items"]
        return passed["result"]

    return called


def _async_generator(tool: _Tool) -> Callable[..., Any]:
    async def target(given: _Arguments) -> object:
        items: list[Any] = []
        source = tool.target(*given[0], **given[1])
        async for item in source:
            items.append(item)
            if len(items) > items_max:
                await source.aclose()
                raise _too_many()
        return items

    @functools.wraps(tool.function)
    async def called(*args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        for item in await _amake(tool, args, kwargs, target):
            yield item

    return called


def _collected(source: Generator[Any, None, Any]) -> tuple[list[Any], Any]:
    """Returns all items, and what the generator returned."""
    items: list[Any] = []
    while True:
        try:
            items.append(next(source))
        except StopIteration as end:
            return items, end.value
        if len(items) > items_max:
            source.close()
            raise _too_many()


items_max = 100_000
"""How many items of a generator are collected. The sidecar examines no more values in one output."""


class _TooMany(Exception):
    pass


def _too_many() -> _TooMany:
    return _TooMany(f"the tool yielded more than {items_max} items")
