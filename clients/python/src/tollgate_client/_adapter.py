"""
What the adapters of frameworks share: one call of a tool, from its decision to what of its output may be passed on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextvars import ContextVar
from typing import Any, Literal, TypeVar

from ._denied import ToolDenied
from ._outcome import Outcome, Shown, unexpected
from ._plain import form_of
from ._run import Run, _current, acting, acting_run  # pyright: ignore[reportPrivateUsage]

T = TypeVar("T")

OnDenied = Literal["tell", "raise"]
"""What a denial becomes: the text that the model reads as the result of its call, or `ToolDenied`."""


def check_on_denied(on_denied: OnDenied) -> None:
    if on_denied not in ("tell", "raise"):
        raise ValueError(f'on_denied must be "tell" or "raise", is {on_denied!r}')


def readable(output: Any, render: Callable[[Any], Any]) -> Any:
    """
    Returns what of an output is reported and passed on: a copy of it, if the model reads that as its JSON, or what the
    model reads, which `render` makes. So a serializer, a computed field or a `__str__` shows the model nothing else.
    """
    with contextlib.suppress(Exception):
        form = form_of(output)
        if render(form.copy) == render(form.json):
            return form.copy
    try:
        return render(output)
    except Exception:
        return Unreadable()


class Unreadable:
    """Stands for an output that the model cannot read. It has no form in JSON, so it is withheld."""


class Governing:
    """
    How the calls of an adapter are made. `run`: whose calls they are; None: those of the current run. Raises
    `ValueError` if an argument is wrong.
    """

    def __init__(
        self, run: Run | None, on_denied: OnDenied, passed: tuple[type[Exception], ...] = (), agent: str | None = None
    ) -> None:
        """
        `passed`: exceptions of a tool that direct the framework and say nothing to the model. `agent`: acts for the run
        by delegation.
        """
        if run is not None and not isinstance(run, Run):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"run must be a run of a gate, is a {type(run).__name__}")
        check_on_denied(on_denied)
        if agent == "":
            raise ValueError("agent must be a text that is not empty")
        self._run = run
        self._on_denied = on_denied
        self._passed = passed
        self._agent = agent

    def run_for(self, tool: str) -> Run:
        """Returns the run that a call belongs to. Raises `ToolDenied` if there is none."""
        run = acting_run(tool, self._run)
        return run if self._agent is None else run.delegate(self._agent)

    def told(self, denied: ToolDenied) -> str:
        """Returns the text that the model reads, or raises the denial if that is asked for."""
        if self._on_denied == "raise":
            raise denied
        return str(denied)

    def call(
        self,
        tool: str,
        input: Mapping[str, object],
        make: Callable[[dict[str, Any]], T],
        show: Callable[[T], Shown[T]],
    ) -> T:
        """
        Decides a call, makes it with the input that was decided, and returns what of its output may be passed on.
        Raises `ToolDenied`, or what the tool raised, redacted.
        """
        try:
            run = self.run_for(tool)
            permit = run.decide(tool, input)
        except Exception as error:
            raise undecided(tool, error) from None
        with Outcome[T](self._passed) as outcome, _inside(run):
            outcome.shown = show(make(permit.input))
        return outcome.passed(run, permit)

    async def acall(
        self,
        tool: str,
        input: Mapping[str, object],
        make: Callable[[dict[str, Any]], Awaitable[T]],
        show: Callable[[T], Shown[T]],
        run: Run | None = None,
        inside: Run | None = None,
    ) -> T:
        """The same in an event loop. `run`: whose call it is, if known. `inside`: the current run of the tool."""
        try:
            run = run or self.run_for(tool)
            permit = await run.adecide(tool, input)
        except Exception as error:
            raise undecided(tool, error) from None
        with Outcome[T](self._passed) as outcome, _inside(inside or run):
            outcome.shown = show(await make(permit.input))
        return await outcome.apassed(run, permit)


def undecided(tool: str, error: Exception) -> ToolDenied:
    """Returns the denial that an error of a decision is: the error itself, or an unexpected one of this client."""
    return error if isinstance(error, ToolDenied) else unexpected(tool, error)


_called: ContextVar[Run | None] = ContextVar("tollgate_called", default=None)


@contextlib.contextmanager
def _inside(run: Run) -> Generator[None]:
    token = _called.set(run)
    try:
        with acting(run):
            yield
    finally:
        _called.reset(token)


def hop_to(agent: str) -> Run | None:
    """
    Returns the run of an agent that begins inside of a governed call: one hop further in the chain. None: it does not,
    or the tool has begun a run of its own.
    """
    above = _called.get()
    return None if above is None or above is not _current.get() else above.delegate(agent)
