"""Passes the OpenTelemetry context on, if OpenTelemetry is installed. It is no dependency."""

from __future__ import annotations

import re
from collections.abc import Callable, MutableMapping

Inject = Callable[[MutableMapping[str, str]], None]

_traceparent = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\Z")


def _find_inject() -> Inject | None:
    try:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
    except ImportError:
        return None
    return TraceContextTextMapPropagator().inject


_inject = _find_inject()


def trace_headers() -> dict[str, str]:
    """Returns the `traceparent` of the current span, and nothing else that a propagator would add."""
    if _inject is None:
        return {}
    carrier: dict[str, str] = {}
    _inject(carrier)
    parent = carrier.get("traceparent", "")
    return {"traceparent": parent} if _traceparent.match(parent) else {}
