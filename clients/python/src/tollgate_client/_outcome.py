"""
What became of a call: the output of the tool, or what it raised. It is reported, and what may be passed on of it is
returned or raised. Nothing else of it is kept, also not in the frames of a traceback.
"""

from __future__ import annotations

import re
from asyncio import CancelledError
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._denied import ToolDenied
from ._hook import Permit

if TYPE_CHECKING:
    from ._run import Run

T = TypeVar("T")


def _as_it_is(passed: Any) -> Any:
    return passed


@dataclass(frozen=True)
class Shown(Generic[T]):
    """What of an output is reported. `restored` makes an output of what may be passed on."""

    value: object
    restored: Callable[[Any], T] = _as_it_is
    is_error: bool = False


class Outcome(Generic[T]):
    """
    The tool is called in its block, and `shown` is set to its output; without a block, `shown` or `failure` is set.
    Afterwards `passed` or `apassed` is called.
    `control`: exceptions that direct a framework and say nothing to the model. They leave the block as they are.
    """

    def __init__(self, control: tuple[type[Exception], ...] = ()) -> None:
        self.shown: Shown[T] | None = None
        self.failure: BaseException | None = None
        self._control = control

    def __enter__(self) -> Outcome[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None or isinstance(error, self._control):
            return False
        self.failure = error
        return True

    def passed(self, run: Run, permit: Permit) -> T:
        """Raises what the tool raised, redacted, or `ToolDenied`."""
        try:
            if self.shown is not None:
                return _restored(permit, self.shown, run.report(permit, self.shown.value, is_error=self.shown.is_error))
            error = _stop(self.failure) or run._report_failure(permit, self.failure)  # type: ignore[arg-type]  # pyright: ignore
        except BaseException as raised:
            error = _bare(permit, raised)
        finally:
            self.shown = self.failure = None
        # Not inside of `except`: what is raised here would have the tool's exception as its context.
        raise error

    async def apassed(self, run: Run, permit: Permit) -> T:
        """The same in an event loop."""
        try:
            if self.shown is not None:
                passed = await run.areport(permit, self.shown.value, is_error=self.shown.is_error)
                return _restored(permit, self.shown, passed)
            error = _stop(self.failure) or await run._areport_failure(permit, self.failure)  # type: ignore[arg-type]  # pyright: ignore
        except BaseException as raised:
            error = _bare(permit, raised)
        finally:
            self.shown = self.failure = None
        raise error


def unexpected(tool: str, error: Exception, *, called: bool = False) -> ToolDenied:
    """Returns what an error of this client itself becomes: a call is not made without a decision."""
    words = f"internal_error: the client failed: {type(error).__name__}"
    return ToolDenied(tool, kind="unavailable", code="internal_error", reason=words, called=called)


def _restored(permit: Permit, shown: Shown[T], passed: Any) -> T:
    try:
        return shown.restored(passed)
    except Exception:
        words = "redaction_unsupported: redaction changes a part of the output that cannot be put together again"
    raise ToolDenied(permit.tool, kind="terminal", code="redaction_unsupported", reason=words, called=True)


def _bare(permit: Permit, error: BaseException) -> BaseException:
    """Returns an error of the report without the frames and the errors behind it, which have seen the output."""
    if isinstance(error, Exception) and not isinstance(error, ToolDenied):
        return unexpected(permit.tool, error, called=True)
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


_stops: tuple[type[BaseException], ...] = (KeyboardInterrupt, CancelledError, GeneratorExit)
# By this text a scope of anyio knows its own cancellation.
_scope = re.compile(r"Cancelled (?:by|via) cancel scope [0-9a-f]+")


def _stop(error: BaseException | None) -> BaseException | None:
    """
    Returns what ends the caller too, where the tool was cancelled or interrupted: such a call has no outcome to report,
    so it has no text and no cause of the tool. None: it is another exception.
    """
    kind = next((kind for kind in _stops if isinstance(error, kind)), None)
    if error is None or kind is None:
        return None
    scope = _scope.match(error.args[0]) if error.args and type(error.args[0]) is str else None
    return kind() if scope is None else kind(scope[0])
