"""Asks a Tollgate sidecar before an agent's tool calls, and redacts what tools receive and return."""

from ._connection import NoAnswer
from ._cost import Cost, CostDenied
from ._denied import Kind, RedactedError, ToolDenied
from ._gate import Gate, connect, version
from ._hook import Permit
from ._run import Run, Tier, carry, current_run, guard
from ._transport import Abort

__version__ = version

__all__ = [
    "Abort",
    "Cost",
    "CostDenied",
    "Gate",
    "Kind",
    "NoAnswer",
    "Permit",
    "RedactedError",
    "Run",
    "Tier",
    "ToolDenied",
    "carry",
    "connect",
    "current_run",
    "guard",
]
