"""
Makes the guarded form of a function: it binds the arguments to their names, asks, calls the function with a copy of
what was decided, reports, and returns what of the output may be passed on. The function is not called in any other way.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from ._denied import NoForm, ToolDenied
from ._hook import Permit, Unformed
from ._outcome import Outcome, Shown
from ._plain import Form, Json, form_of
from ._transport import Abort

if TYPE_CHECKING:
    from ._run import Run

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Guarding:
    """
    `run_of` returns the run of a call, or raises `ToolDenied`. `wait_s`: None is what the run says. `show`: what of an
    output is reported.
    """

    tool: str
    run_of: Callable[[], Run]
    exclude: Sequence[str]
    wait_s: float | None
    abort: Abort | None
    show: Callable[[Any], Shown[Any]] = Shown


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
        self._has_receiver = _takes_receiver(inner) if has_receiver is None else has_receiver
        signature = _signature_of(inner)
        self._signature = _without_first(signature) if self._has_receiver else signature
        parameters = self._signature.parameters
        takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
        unknown = set(how.exclude) - parameters.keys()
        if unknown and not takes_any:
            raise ValueError(f"{how.tool}: exclude names {sorted(unknown)}, which are no parameters")

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        """Binds the arguments, with defaults. Raises `TypeError` as the function itself would, and `ToolDenied`."""
        for first, named in self._bound:
            args, kwargs = (*first, *args), {**named, **kwargs}
        receiver = args[:1] if self._has_receiver else ()
        args = args[len(receiver) :]
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        rest = next((one.name for one in self._signature.parameters.values() if one.kind is one.VAR_KEYWORD), None)
        extra: dict[str, Any] = {} if rest is None else bound.arguments.get(rest, {})
        named = {name: value for name, value in bound.arguments.items() if name != rest}
        twice = sorted(extra.keys() & named.keys())
        if twice:
            raise self._malformed(f"the keyword arguments {twice} have the names of parameters")
        taken = {**named, **extra}
        try:
            # Each argument may be as deep as an input.
            form = form_of({name: value for name, value in taken.items() if name not in self.how.exclude}, "args")
        except NoForm as error:
            raise self._malformed(f"{error}; pass it in another form, or name the argument in exclude") from None
        return _Call(receiver, len(args), taken, form)

    def _malformed(self, words: str) -> ToolDenied:
        return ToolDenied(self.how.tool, kind="terminal", code="call_malformed", reason=f"call_malformed: {words}")

    def given(self, call: _Call, permit: Permit) -> _Arguments:
        """
        Returns the arguments that the function is called with: what was decided, and what is not shown, each by name
        or by its place as the caller passed it.
        """
        shown = cast("dict[str, Json]", call.form.json)
        if permit.input.keys() != shown.keys():
            raise self._unsupported("changes the name of an argument")
        kwargs = {**call.taken, **permit.input}
        args = [*call.receiver]
        for at, one in enumerate(self._signature.parameters.values()):
            if one.kind is one.VAR_POSITIONAL:
                more = kwargs.pop(one.name)
                if not isinstance(more, tuple):
                    raise self._unsupported("makes one value of several arguments")
                args.extend(more)  # pyright: ignore[reportUnknownArgumentType]
            elif one.kind is one.POSITIONAL_ONLY or (one.kind is one.POSITIONAL_OR_KEYWORD and at < call.positional):
                args.append(kwargs.pop(one.name))
        return tuple(args), kwargs

    def _unsupported(self, words: str) -> ToolDenied:
        reason = f"redaction_unsupported: redaction {words}"
        return ToolDenied(self.how.tool, kind="terminal", code="redaction_unsupported", reason=reason)

    def returned(self, output: object) -> object:
        """Returns the output of a function, or `Unformed` if it has not run yet, such as a coroutine."""
        closed = output
        if inspect.iscoroutine(closed) or inspect.isgenerator(closed):
            closed.close()
        if inspect.isawaitable(output) or inspect.isgenerator(output) or inspect.isasyncgen(output):
            words = f"the output is a {type(output).__name__}, which has not run; guard the function that makes it"
            return Unformed(f"{words} without what wraps it, such as lru_cache")
        return output


@dataclass(frozen=True)
class _Call:
    """
    `receiver`: the object or class of a method. `positional`: how many arguments the caller passed by their place.
    `taken`: all arguments by name, those of `**` next to the others. `form`: of all that are shown.
    """

    receiver: tuple[Any, ...]
    positional: int
    taken: dict[str, Any]
    form: Form


def _takes_receiver(function: Callable[..., Any]) -> bool:
    """Whether the first argument is the object or class of a method that is defined in a class body."""
    if inspect.ismethod(function):
        return False
    name: str = getattr(function, "__qualname__", "")
    first = next(iter(inspect.signature(function).parameters), None)
    return first in ("self", "cls") and "." in name.rpartition("<locals>.")[2]


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """
    Returns the names by which the function takes its arguments. A decorator may show other ones: those of the function
    below it, or any.
    """
    if inspect.ismethod(function):
        return _without_first(_signature_of(function.__func__))
    if inspect.isfunction(function):
        bare = FunctionType(function.__code__, {}, None, function.__defaults__, function.__closure__)
        bare.__kwdefaults__ = function.__kwdefaults__
        return inspect.signature(bare)
    try:
        return inspect.signature(function, follow_wrapped=False)
    except ValueError:
        # `functools.lru_cache` passes them on as they are.
        return inspect.signature(function)


def _without_first(signature: inspect.Signature) -> inspect.Signature:
    first, *others = signature.parameters.values()
    return signature if first.kind is first.VAR_POSITIONAL else signature.replace(parameters=others)


_Arguments: TypeAlias = "tuple[tuple[Any, ...], dict[str, Any]]"


def _make(tool: _Tool, args: tuple[Any, ...], kwargs: dict[str, Any], target: Callable[[_Arguments], Any]) -> Any:
    """Asks, calls `target` with what was decided, and returns what of its output may be passed on."""
    run, call = tool.how.run_of(), tool.bind(args, kwargs)
    permit = run._decide(tool.how, call.form)  # pyright: ignore[reportPrivateUsage]
    given = tool.given(call, permit)
    with Outcome[Any]() as outcome:
        outcome.shown = tool.how.show(target(given))
    return outcome.passed(run, permit)


async def _amake(
    tool: _Tool, args: tuple[Any, ...], kwargs: dict[str, Any], target: Callable[[_Arguments], Awaitable[Any]]
) -> Any:
    """The same in an event loop."""
    run, call = tool.how.run_of(), tool.bind(args, kwargs)
    permit = await run._adecide(tool.how, call.form)  # pyright: ignore[reportPrivateUsage]
    given = tool.given(call, permit)
    with Outcome[Any]() as outcome:
        outcome.shown = tool.how.show(await target(given))
    return await outcome.apassed(run, permit)


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
        has_result = False

        def target(given: _Arguments) -> object:
            nonlocal has_result
            items, result = _collected(tool.target(*given[0], **given[1]))
            has_result = result is not None
            return {"items": items, "result": result} if has_result else items

        passed = _make(tool, args, kwargs, target)
        yield from passed["items"] if has_result else passed
        return passed["result"] if has_result else None

    return called


def _async_generator(tool: _Tool) -> Callable[..., Any]:
    async def target(given: _Arguments) -> object:
        items: list[Any] = []
        source = tool.target(*given[0], **given[1])
        async for item in source:
            items.append(item)
            if len(items) > items_max:
                await source.aclose()
                return _too_many
        return items

    @functools.wraps(tool.function)
    async def called(*args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        for item in await _amake(tool, args, kwargs, target):
            yield item

    return called


def _collected(source: Generator[Any, None, Any]) -> tuple[list[Any] | Unformed, Any]:
    """Returns all items, and what the generator returned."""
    items: list[Any] = []
    while True:
        try:
            items.append(next(source))
        except StopIteration as end:
            return items, end.value
        if len(items) > items_max:
            source.close()
            return _too_many, None


items_max = 100_000
"""How many items of a generator are collected. The sidecar examines no more values in one output."""


_too_many = Unformed(f"the tool yielded more than {items_max} items")
