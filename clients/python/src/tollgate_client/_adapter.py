"""
What the adapters of frameworks share: one call of a tool, from its decision to what of its output may be passed on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from ._denied import ToolDenied
from ._run import Run, _current, acting, acting_run  # pyright: ignore[reportPrivateUsage]

T = TypeVar("T")

OnDenied = Literal["tell", "raise"]
"""What a denial becomes: the text that the model reads as the result of its call, or `ToolDenied`."""


def check_on_denied(on_denied: OnDenied) -> None:
    if on_denied not in ("tell", "raise"):
        raise ValueError(f'on_denied must be "tell" or "raise", is {on_denied!r}')


@dataclass(frozen=True)
class Shown(Generic[T]):
    """What of an output is reported. `restored` makes an output of what may be passed on."""

    value: object
    restored: Callable[[Any], T]
    is_error: bool = False


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
        run = self.run_for(tool)
        permit = run.decide(tool, input)
        try:
            with _inside(run):
                shown = show(make(permit.input))
        except self._passed:
            raise
        except Exception as error:
            failure = error
        else:
            return shown.restored(run.report(permit, shown.value, is_error=shown.is_error))
        # Not inside of `except`: what is raised here would have the tool's exception as its context.
        raise run._report_failure(permit, failure)  # pyright: ignore[reportPrivateUsage]

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
        run = run or self.run_for(tool)
        permit = await run.adecide(tool, input)
        try:
            with _inside(inside or run):
                shown = show(await make(permit.input))
        except self._passed:
            raise
        except Exception as error:
            failure = error
        else:
            return shown.restored(await run.areport(permit, shown.value, is_error=shown.is_error))
        raise await run._areport_failure(permit, failure)  # pyright: ignore[reportPrivateUsage]


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
