"""The fixtures of all tests: the programs that they need, and a gate to the sidecar of these."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack

import pytest

from tollgate_client import Gate, connect

from .programs import Addresses, World, given, plane_and_sidecar, world_at

# A machine that is busy with other work is no sidecar that is absent.
answer_within_s = 60


@pytest.fixture(scope="session")
def world() -> Generator[World]:
    with ExitStack() as stack:
        shared = given()
        at = stack.enter_context(plane_and_sidecar()) if shared is None else Addresses.of(shared)
        yield stack.enter_context(world_at(at))


@pytest.fixture
def gate(world: World) -> Generator[Gate]:
    with connect(sidecar=world.sidecar, key=world.key, timeout=answer_within_s) as gate:
        yield gate
