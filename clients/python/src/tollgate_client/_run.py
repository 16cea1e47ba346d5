"""A run: one session of one agent, whose calls are decided. It works in threads and in event loops alike."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, ParamSpec, TypeVar

from ._cost import Cost, CostDenied, ask_cost, cents_of, new_cost_id
from ._denied import NoForm, ToolDenied
from ._guard import F, Guarding, guarded
from ._hook import Asking, Permit, decide, report, report_failure
from ._plain import Form, Json, form_of
from ._transport import Abort, Flow, Transport, drive, drive_async

P = ParamSpec("P")
T = TypeVar("T")

Tier = Literal["interactive", "subagent", "background", "api"]
tiers: tuple[Tier, ...] = ("interactive", "subagent", "background", "api")

_current: ContextVar[Run | None] = ContextVar("tollgate_run", default=None)
_outside: ContextVar[tuple[Run | None, ...]] = ContextVar("tollgate_outside", default=())
"""What was current outside of each `with` block of a run around this code. Several threads may be in one of one run."""


@dataclass(frozen=True)
class Caller:
    """What a run says of itself. `chain`: the agents from the first to this one. `tools`: None is all tools."""

    chain: tuple[str, ...]
    tier: Tier
    session: str
    user: str | None
    client: Mapping[str, str]
    tools: tuple[str, ...] | None = None

    def fields(self) -> dict[str, Json]:
        fields: dict[str, Json] = {
            "agent_name": self.chain[-1],
            "agent_chain": list(self.chain),
            "agent_tier": self.tier,
            "session_id": self.session,
            "client": dict(self.client),
        }
        if self.user is not None:
            fields["impersonate_uid"] = self.user
        if self.tools is not None:
            fields["delegated_tools"] = list(self.tools)
        return fields


class Run:
    """
    Decides calls for one agent. Used with `with` or `async with` it is the current run of the block, and is over at its
    end: later calls are denied. All methods may be used from several threads and event loops at a time.
    """

    def __init__(self, transport: Transport, caller: Caller, wait: float, above: Run | None = None) -> None:
        self._transport = transport
        self._caller = caller
        self._wait: float = _wait_of(wait) or 0
        self._above = above
        self._has_ended = False

    @property
    def session(self) -> str:
        """The session id, under which the entries of the run are found."""
        return self._caller.session

    @property
    def agent(self) -> str:
        return self._caller.chain[-1]

    def guard(
        self, tool: str, *, exclude: Sequence[str] = (), wait: float | None = None, abort: Abort | None = None
    ) -> Callable[[F], F]:
        """
        Decorates a function, coroutine, generator, async generator or method: its calls are decided as calls of `tool`.
        `exclude`: arguments that the sidecar is not shown; they are passed on as they are. `wait`: seconds to wait for
        a person, instead of the run's. `abort` ends that wait.
        """
        return functools.partial(guarded, guarding(tool, lambda: self, exclude, wait, abort))

    def decide(
        self, tool: str, input: Mapping[str, object], *, wait: float | None = None, abort: Abort | None = None
    ) -> Permit:
        """Decides one call. Make it with `permit.input` only, and `report` its outcome. Raises `ToolDenied`."""
        return self._decide(guarding(tool, lambda: self, (), wait, abort), _input_form(tool, input))

    async def adecide(self, tool: str, input: Mapping[str, object], *, wait: float | None = None) -> Permit:
        """The same in an event loop. Cancel the task to end the wait for a person."""
        return await self._adecide(guarding(tool, lambda: self, (), wait, None), _input_form(tool, input))

    def report(self, permit: Permit, output: object, *, is_error: bool = False) -> Any:
        """Reports an outcome, and returns what of it may be passed on. Raises `ToolDenied` if it is withheld."""
        return drive(report(permit, output, is_error=is_error), self._transport.send)

    async def areport(self, permit: Permit, output: object, *, is_error: bool = False) -> Any:
        """The same in an event loop."""
        return await drive_async(report(permit, output, is_error=is_error), self._transport.send_async)

    def reserve_cost(self, cents: float, *, least: float | None = None) -> Cost:
        """
        Reserves `cents` of the agent's `maxBudgetCents` before they are spent. If less is left, reserves what is left,
        but only if it is at least `least`. Settle the `Cost`, or use it with `with`. Raises `CostDenied`.
        """
        return drive(self._reserve_cost(cents, least), self._transport.send)

    async def areserve_cost(self, cents: float, *, least: float | None = None) -> Cost:
        """The same in an event loop, for `async with await run.areserve_cost(…)`."""
        return await drive_async(self._reserve_cost(cents, least), self._transport.send_async)

    def delegate(self, agent: str, *, tools: Sequence[str] | None = None, tier: Tier | None = None) -> Run:
        """
        Returns a run of another agent for a delegated task, in the same session: the agent is one hop further in the
        chain, and may at most what the agents above it may. `tools`: the only tools of the task, as `github.*` too. In
        one session the tools of an agent only become fewer.
        """
        above = self._caller
        handed = above.tools if tools is None else _intersection(above.tools, tools)
        caller = Caller(
            chain=(*above.chain, _named(agent, "agent")),
            tier=above.tier if tier is None else _tier(tier),
            session=above.session,
            user=above.user,
            client=above.client,
            tools=handed,
        )
        return Run(self._transport, caller, self._wait, self)

    def _decide(self, how: Guarding, form: Form) -> Permit:
        abort = how.abort
        is_aborted = _never if abort is None else lambda: abort.is_set
        flow = decide(self._asking(how, is_aborted), self._fields(how.tool), form)
        permit = drive(flow, lambda request: self._transport.send(request, abort))
        self._check_open(how.tool)
        return permit

    async def _adecide(self, how: Guarding, form: Form) -> Permit:
        if how.abort is not None:
            raise ValueError("abort is for threads: in an event loop, cancel the task")
        flow = decide(self._asking(how, _never), self._fields(how.tool), form)
        permit = await drive_async(flow, self._transport.send_async)
        self._check_open(how.tool)
        return permit

    def _report_failure(self, permit: Permit, error: BaseException) -> BaseException:
        return drive(report_failure(permit, error), self._transport.send)

    async def _areport_failure(self, permit: Permit, error: BaseException) -> BaseException:
        return await drive_async(report_failure(permit, error), self._transport.send_async)

    def _asking(self, how: Guarding, is_aborted: Callable[[], bool]) -> Asking:
        wait_s = self._wait if how.wait_s is None else how.wait_s
        return Asking(how.tool, self._transport.timeout_s, wait_s, is_aborted)

    def _fields(self, tool: str) -> dict[str, Json]:
        self._check_open(tool)
        return self._caller.fields()

    def _check_open(self, tool: str) -> None:
        """Raises `ToolDenied` if the run is over. It may end while a call is decided, for example by a person."""
        words = self._ended()
        if words is not None:
            raise ToolDenied(tool, kind="terminal", code="run_ended", reason=words)

    def _ended(self) -> str | None:
        """Says which run is over, this one or one above it. None: no run is."""
        above: Run | None = self
        while above is not None:
            if above._has_ended:
                return f"run_ended: the run of agent {above.agent!r} is over"
            above = above._above
        return None

    def _reserve_cost(self, cents: float, least: float | None) -> Flow[Cost]:
        words = self._ended()
        if words is not None:
            raise CostDenied(kind="terminal", code="run_ended", reason=words)
        asked = {"cents": cents_of(cents)}
        if least is not None:
            asked["least_cents"] = cents_of(least)
        cost_id, caller, timeout_s = new_cost_id(), self._caller.fields(), self._transport.timeout_s
        reserved = yield from ask_cost("reserve", caller, cost_id, asked, timeout_s)
        return Cost(
            reserved,
            lambda spent: ask_cost("settle", caller, cost_id, {"cents": spent}, timeout_s),
            self._transport.send,
            self._transport.send_async,
        )

    def __enter__(self) -> Run:
        _outside.set((*_outside.get(), _current.get()))
        _current.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._has_ended = True
        # None if the block began in another context, as that of an async fixture may.
        *outside, before = _outside.get() or (None,)
        _outside.set(tuple(outside))
        _current.set(before)

    async def __aenter__(self) -> Run:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __repr__(self) -> str:
        return f"<Run of {self.agent!r} in session {self.session!r}>"


def _never() -> bool:
    return False


def _input_form(tool: str, input: Mapping[str, object]) -> Form:
    if not isinstance(input, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        words = f"call_malformed: input must be a mapping, is of type {type(input).__name__}"
        raise ToolDenied(tool, kind="terminal", code="call_malformed", reason=words)
    try:
        return form_of(dict(input))
    except NoForm as error:
        raise ToolDenied(tool, kind="terminal", code="call_malformed", reason=f"call_malformed: {error}") from None


def _named(name: str, what: str) -> str:
    # The sidecar would understand an empty name as none.
    if not isinstance(name, str) or name == "":  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"{what} must be a text that is not empty, is {name!r}")
    return name


def _tier(tier: str) -> Tier:
    for known in tiers:
        if tier == known:
            return known
    raise ValueError(f"tier must be one of {', '.join(tiers)}, is {tier!r}")


def guarding(
    tool: str, run_of: Callable[[], Run], exclude: Sequence[str], wait: float | None, abort: Abort | None
) -> Guarding:
    if isinstance(exclude, str):
        raise ValueError(f"exclude must be a list of names, is {exclude!r}: write [{exclude!r}]")
    if not isinstance(exclude, Collection) or not all(isinstance(name, str) for name in exclude):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"exclude must be a list of names, is {exclude!r}")
    if abort is not None and not isinstance(abort, Abort):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"abort must be an Abort, is of type {type(abort).__name__}")
    return Guarding(_named(tool, "tool"), run_of, tuple(exclude), _wait_of(wait), abort)


seconds_max = 86_400


def seconds(value: object, what: str, least: float) -> float:
    """Returns a time. Raises `ValueError`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= seconds_max:
        raise ValueError(f"{what} must be a number of seconds from {least} to {seconds_max}, is {value!r}")
    return value


def _wait_of(wait: float | None) -> float | None:
    return None if wait is None else seconds(wait, "wait", 0)


def _intersection(above: tuple[str, ...] | None, below: Sequence[str]) -> tuple[str, ...]:
    """Returns the names that both lists contain. If two overlap, such as `github.*` and `github.read`, the narrower."""
    if isinstance(below, str):
        raise ValueError("tools must be a list of names")
    if above is None:
        return tuple(below)
    narrower = [*(name for name in above if _names(below, name)), *(name for name in below if _names(above, name))]
    return tuple(dict.fromkeys(narrower))


def _names(keys: Sequence[str], tool: str) -> bool:
    return any(key == tool or (key[-2:] in _wildcards and tool.startswith(key[:-1])) for key in keys)


_wildcards = frozenset(f"{end}*" for end in "._/:-")


def current_run() -> Run:
    """Returns the run of the innermost `with gate.run(…)` around this code. Raises `LookupError` if there is none."""
    run = _current.get()
    if run is None:
        raise LookupError("there is no current run: call this inside of `with gate.run(...)`")
    return run


def guard(
    tool: str, *, exclude: Sequence[str] = (), wait: float | None = None, abort: Abort | None = None
) -> Callable[[F], F]:
    """
    As `Run.guard`, for functions that are defined before any run begins: each call is one of the run that is current
    then. Without one it is denied.
    """
    return functools.partial(guarded, guarding(tool, lambda: acting_run(tool), exclude, wait, abort))


def acting_run(tool: str, given: Run | None = None) -> Run:
    """
    Returns the run that a call belongs to: the current one, or `given` unless the current one was delegated from it.
    Raises `ToolDenied` if there is none.
    """
    current = _current.get()
    if given is None:
        if current is not None:
            return current
        words = "run_missing: the tool is called outside of any run"
        raise ToolDenied(tool, kind="terminal", code="run_missing", reason=words)
    above = current
    while above is not None and above is not given:
        above = above._above  # pyright: ignore[reportPrivateUsage]
    return given if above is None or current is None else current


@contextlib.contextmanager
def acting(run: Run) -> Generator[None]:
    """Makes a run the current one of the block, and does not end it."""
    token = _current.set(run)
    try:
        yield
    finally:
        _current.reset(token)


def carry(function: Callable[P, T]) -> Callable[P, T]:
    """
    Returns the function so that it runs with the current run, and the rest of the context of this moment, in any
    thread: `executor.submit(carry(work), …)`. Tasks and `asyncio.to_thread` need no help.
    """
    context = contextvars.copy_context()

    @functools.wraps(function)
    def carried(*args: P.args, **kwargs: P.kwargs) -> T:
        # A context can be entered by one thread at a time, so each call has a copy.
        return context.copy().run(function, *args, **kwargs)

    return carried
