"""
Times a guarded call of the Python client over a Unix domain socket, the bare tool, and two requests of httpx to a bare
server, which is what a guarded call sends. Arguments: the socket of the sidecar, that of the server, and the number of
rounds. The key is in TOLLGATE_KEY. Prints one JSON line for each way of calling: µs a call, and the median ratios.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
from tollgate_client import connect

sidecar, echo, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
text = "a report of an ordinary length, as tools of agents are given it " * 4
body = {"tool_name": "server7.tool_7", "tool_input": {"title": text}, "session_id": "bench", "agent_name": "free"}


def bare(title: str) -> str:
    return title


async def bare_async(title: str) -> str:
    return title


def of_threads(count: int, work: Callable[[], object], calls: int) -> float:
    """Returns the µs that a call took, by the time of all."""

    def one(_: int) -> None:
        for _ in range(calls // count):
            work()

    with ThreadPoolExecutor(count) as pool:
        began = time.perf_counter()
        list(pool.map(one, range(count)))
        return (time.perf_counter() - began) * 1e6 / (calls // count * count)


async def of_tasks(count: int, work: Callable[[], Awaitable[object]], calls: int) -> float:
    async def one() -> None:
        for _ in range(calls // count):
            await work()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(count)))
    return (time.perf_counter() - began) * 1e6 / (calls // count * count)


def show(name: str, measured: list[tuple[float, float, float]]) -> None:
    guarded, sent, alone = (statistics.median(of) for of in zip(*measured, strict=True))
    ratios = {
        "echo": statistics.median(one / other for one, other, _ in measured),
        "bare": statistics.median(one / other for one, _, other in measured),
    }
    print(json.dumps({"name": name, "guarded": guarded, "echo": sent, "bare": alone, "ratios": ratios}), flush=True)


def with_threads(count: int, calls: int) -> None:
    transport = httpx.HTTPTransport(uds=echo, limits=httpx.Limits(max_keepalive_connections=count))
    with (
        connect(sidecar=f"unix:{sidecar}") as gate,
        httpx.Client(transport=transport, base_url="http://echo") as client,
    ):
        guarded = gate.run(agent="free", tier="api").guard("server7.tool_7")(bare)

        def send() -> None:
            for path in ("/tool-use", "/tool-output"):
                client.post(path, json=body).raise_for_status().json()

        def measure(calls: int) -> tuple[float, float, float]:
            return (
                of_threads(count, lambda: guarded(text), calls),
                of_threads(count, send, calls),
                of_threads(count, lambda: bare(text), calls),
            )

        measure(count)
        show(f"{count} thread{'' if count == 1 else 's'}", [measure(calls) for _ in range(rounds)])


async def with_tasks(count: int, calls: int) -> None:
    transport = httpx.AsyncHTTPTransport(uds=echo, limits=httpx.Limits(max_keepalive_connections=count))
    client = httpx.AsyncClient(transport=transport, base_url="http://echo")
    async with connect(sidecar=f"unix:{sidecar}") as gate, client:
        guarded = gate.run(agent="free", tier="api").guard("server7.tool_7")(bare_async)

        async def send() -> None:
            for path in ("/tool-use", "/tool-output"):
                (await client.post(path, json=body)).raise_for_status().json()

        async def measure(calls: int) -> tuple[float, float, float]:
            return (
                await of_tasks(count, lambda: guarded(text), calls),
                await of_tasks(count, send, calls),
                await of_tasks(count, lambda: bare_async(text), calls),
            )

        await measure(count)
        show(f"{count} tasks", [await measure(calls) for _ in range(rounds)])


with_threads(1, 500)
with_threads(32, 1_600)
asyncio.run(with_tasks(100, 2_000))
