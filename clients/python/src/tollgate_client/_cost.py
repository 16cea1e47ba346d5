"""Money of a run: an amount is reserved before it is spent, and settled with what was spent."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Literal

from ._answer import NotUnderstood, fields_of, number_in
from ._connection import Answer, NoAnswer, Request
from ._denied import Kind
from ._plain import Json
from ._trace import trace_headers
from ._transport import Flow, drive, drive_async

_bytes_max = 64 * 1024


class CostDenied(Exception):
    """
    Nothing was reserved or counted. The message is written for a model.

    `kind` and `code`: as in `ToolDenied`. `stopped`: the budget of the run is spent, for this amount or altogether.
    """

    def __init__(self, *, kind: Kind, code: str, reason: str, stopped: bool = False) -> None:
        self.kind: Kind = kind
        self.code = code
        self.reason = reason
        self.stopped = stopped
        super().__init__(f"The cost was not accepted, so nothing may be spent for it: {reason[:2_000]}")

    def __reduce__(self) -> tuple[object, ...]:
        return (_denied_from, (self.kind, self.code, self.reason, self.stopped))


def _denied_from(kind: Kind, code: str, reason: str, stopped: bool) -> CostDenied:
    return CostDenied(kind=kind, code=code, reason=reason, stopped=stopped)


class Cost:
    """
    A reservation of a run's budget. `cents`: what may be spent. Settle it once with what was spent; the amount counts
    in full, even if it is more. At the end of a `with` or `async with` block, all of it counts unless it was settled. A
    reservation that is never settled stays reserved.
    """

    def __init__(
        self,
        cents: float,
        ask: Callable[[float], Flow[float]],
        send: Callable[[Request], Answer],
        send_async: Callable[[Request], Awaitable[Answer]],
    ) -> None:
        self.cents = cents
        self._ask = ask
        self._send = send
        self._send_async = send_async
        self._lock = threading.Lock()
        self._settled: float | None = None

    def settle(self, cents: float) -> None:
        """
        Reports what was spent. Raises `CostDenied` if that was not answered: then try again with the same amount, which
        counts once. Raises `ValueError` if the amount is wrong, or another one was reported before.
        """
        drive(self._settle(cents), self._send)

    async def asettle(self, cents: float) -> None:
        """The same in an event loop."""
        await drive_async(self._settle(cents), self._send_async)

    def _settle(self, cents: float) -> Flow[None]:
        amount = cents_of(cents)
        with self._lock:
            if self._settled is not None and self._settled != amount:
                raise ValueError(f"the cost is settled already, with {self._settled:g} cents")
            self._settled = amount
        yield from self._ask(amount)

    def __enter__(self) -> Cost:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._settled is None:
            # Without an answer the amount stays reserved, which counts the same.
            with suppress(CostDenied):
                self.settle(self.cents)

    async def __aenter__(self) -> Cost:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._settled is None:
            with suppress(CostDenied):
                await self.asettle(self.cents)

    def __repr__(self) -> str:
        return f"<Cost of {self.cents:g} cents>"


def cents_of(cents: float) -> float:
    if isinstance(cents, bool) or not isinstance(cents, (int, float)) or not 0 <= cents <= _cents_max:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"cents must be a number from 0 to {_cents_max}, is {cents!r}")
    return cents


_cents_max = 1_000_000_000
# The sidecar counts whole millionths.
_step = 1e-6


def new_cost_id() -> str:
    return uuid.uuid4().hex


def ask_cost(
    action: Literal["reserve", "settle"],
    caller: Mapping[str, Json],
    cost_id: str,
    amount: Mapping[str, float],
    timeout_s: float,
) -> Flow[float]:
    """Ends with the cents that were reserved or counted. Anything but an answer that says so is `CostDenied`."""
    # What is settled is counted as it is. Of a reservation, less may be left than was asked for.
    least = amount.get("least_cents", amount["cents"])
    body = json.dumps({**caller, "action": action, "cost_id": cost_id, **amount}, ensure_ascii=True).encode()
    try:
        answer = yield Request("POST", "/govern/cost", body, timeout_s, _bytes_max, trace_headers())
        fields = fields_of(answer, "decision")
    except NoAnswer as error:
        reason = f"sidecar_unavailable: {error}"
        raise CostDenied(kind="unavailable", code="sidecar_unavailable", reason=reason) from None
    except NotUnderstood as error:
        raise _invalid(str(error)) from None
    if answer.status == 200 and fields.get("decision") == "allow":
        cents = number_in(fields, "cents")
        if cents is None or not least - _step <= cents <= amount["cents"] + _step:
            raise _invalid(f"it allows cents that are no number from {least:g} to {amount['cents']:g}")
        return cents
    words = fields.get("reason")
    if fields.get("decision") != "deny" or not isinstance(words, str):
        raise _invalid(f"it has status {answer.status} and no decision")
    kind: Kind = "retry" if fields.get("kind") == "retry" else "terminal"
    raise CostDenied(
        kind="unavailable" if answer.status >= 500 else kind,
        code=words.partition(":")[0],
        reason=words,
        stopped=fields.get("stopped") == "max_budget",
    )


def _invalid(words: str) -> CostDenied:
    reason = f"answer_invalid: the answer is not one of Tollgate: {words}"
    return CostDenied(kind="unavailable", code="answer_invalid", reason=reason)
