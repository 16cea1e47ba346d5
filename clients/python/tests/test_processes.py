"""Forks, several event loops, and a program that ends while a call is in flight."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from tollgate_client import ToolDenied, connect

from .stand_in import allow, answering, http, passing, stand_in
from .test_bad_sidecars import gate_at, key

source = Path(__file__).resolve().parents[1] / "src"


def run_program(text: str, address: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(source), "TOLLGATE_SIDECAR": address, "TOLLGATE_KEY": key}
    return subprocess.run(
        [sys.executable, "-c", text], env=env, capture_output=True, text=True, timeout=60, check=False
    )


forking = """
import os
from tollgate_client import connect
gate = connect()
run = gate.run(agent="a", tier="api")
call = run.guard("t")(lambda: os.getpid())
assert call() == os.getpid()
child = os.fork()
if child == 0:
    os._exit(0 if call() == os.getpid() else 1)
assert call() == os.getpid()
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0
assert call() == os.getpid()
print("done")
"""


def test_a_forked_child_has_its_own_connections() -> None:
    def handle(connection: socket.socket, request: bytes) -> None:
        connection.sendall(http(passing if b"/govern/tool-output" in request else allow))

    with stand_in(handle) as server:
        ended = run_program(forking, server.address)
        assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
        assert (server.connections, len(server.requests)) == (2, 8)


leaving = """
import sys, threading
from tollgate_client import connect
run = connect().run(agent="a", tier="api")
def tool():
    print("called", flush=True)
def work():
    try:
        run.guard("t")(tool)()
    except BaseException as error:
        print(type(error).__name__, flush=True)
threading.Thread(target=work, daemon=True).start()
sys.stdin.readline()
"""


def test_a_program_that_ends_while_a_call_is_in_flight_makes_no_call() -> None:
    def silent(connection: socket.socket, _: bytes) -> None:
        server.release.wait(60)

    env = {**os.environ, "PYTHONPATH": str(source), "TOLLGATE_KEY": key}
    with stand_in(silent) as server:
        env["TOLLGATE_SIDECAR"] = server.address
        child = subprocess.Popen(
            [sys.executable, "-c", leaving], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert server.arrived.acquire(timeout=60)
        out, _ = child.communicate(b"end\n", timeout=60)
        assert child.returncode == 0
        assert b"called" not in out


late = """
import atexit
from tollgate_client import ToolDenied, connect
run = connect().run(agent="a", tier="api")
def tool():
    print("called")
class Last:
    def __del__(self):
        try:
            run.guard("t")(tool)()
        except ToolDenied as error:
            print(error.code)
def at_exit():
    try:
        run.guard("t")(tool)()
    except ToolDenied as error:
        print(error.code)
atexit.register(at_exit)
"""


def test_a_call_at_the_exit_of_the_interpreter_is_decided_too() -> None:
    with stand_in(answering(http({"decision": "deny", "reason": "policy_denied: x", "kind": "terminal"}))) as server:
        ended = run_program(late, server.address)
    assert (ended.returncode, ended.stdout) == (0, "policy_denied\n"), ended.stderr


def test_two_event_loops_have_their_own_connections() -> None:
    with stand_in(answering(http(allow))) as server:
        run = gate_at(server.address).run(agent="a", tier="api")

        async def ask() -> str:
            return (await run.adecide("t", {})).request_id

        async def twice() -> list[str]:
            return [await ask(), *await asyncio.gather(ask(), asyncio.to_thread(asyncio.run, ask()))]

        assert asyncio.run(twice()) == ["r"] * 3
        assert asyncio.run(ask()) == "r"
        assert len(server.requests) == 4


def test_many_threads_share_a_gate() -> None:
    with stand_in(answering(http(allow))) as server:
        gate = gate_at(server.address)
        run = gate.run(agent="a", tier="api")
        failed: list[ToolDenied] = []

        def ask() -> None:
            try:
                run.decide("t", {})
            except ToolDenied as error:
                failed.append(error)

        threads = [threading.Thread(target=ask) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        gate.close()
        assert failed == []
        assert len(server.requests) == 30


def test_connect_sends_nothing() -> None:
    with stand_in(answering(http(allow))) as server:
        connect(sidecar=server.address, key=key).close()
        assert server.connections == 0
