"""
Starts the programs that tests need, all of this checkout and on free ports: a control plane with its embedded
PostgreSQL, and a sidecar. Policy: `tests/policy.py`.

`python -m tests.programs` starts them once for several runs of the tests, with the scripted model of the frameworks. It
prints their addresses in one line, which is the value of `TOLLGATE_TEST_PROGRAMS` for these runs. It ends them at
SIGTERM, or when its input ends. The runs must not be at the same time, because there is one model. What a test leaves
in the audit log is in a session of its own.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import FrameType
from typing import Any

import httpx

from .policy import registered_agent, workspace_policy

checkout = Path(__file__).resolve().parents[3]
ready_s = 120
has_socket = "TOLLGATE_SOCKET" in (checkout / "sidecar/app/config.ts").read_text()


@dataclass(frozen=True)
class Addresses:
    """
    `socket`: of the sidecar, if it `has_socket`. `plane`: the control plane, which answers hooks too. `key`: of the
    member ana, who has the agents. `owner_key` may do everything, and `bob_key` answers approvals.
    """

    sidecar: str
    socket: str
    plane: str
    key: str
    owner_key: str
    bob_key: str

    @staticmethod
    def of(named: Mapping[str, str]) -> Addresses:
        return Addresses(**{field.name: named[field.name] for field in fields(Addresses)})


class World:
    """The programs, and what tests do with them. `bob` may answer the approvals of `ana`, whose key is `key`."""

    def __init__(self, at: Addresses, owner: httpx.Client, bob: httpx.Client) -> None:
        self.sidecar, self.socket, self.plane, self.key = at.sidecar, at.socket, at.plane, at.key
        self.owner = owner
        self.bob = bob

    def register(self, name: str, **more: object) -> None:
        """Registers an agent of the workspace."""
        agent = {"name": name, "model": "demo/echo", "enabledTools": ["github.*"], **more}
        _checked(self.owner.post("/api/v1/agents", json=agent))

    def put_policy(self, policy: Mapping[str, object]) -> None:
        _checked(self.owner.put("/default/admin/workspacePolicy", json=policy))

    def entries(self, session: str, count: int) -> list[dict[str, Any]]:
        """Returns the entries of a session, oldest first, as soon as there are this many."""
        found: list[dict[str, Any]] = []
        for _ in attempts():
            answer = _checked(self.owner.get("/default/admin/audit", params={"session": session, "limit": 1000})).json()
            found = answer["entries"]
            if len(found) >= count:
                return found[::-1]
        raise AssertionError(f"{count} entries were expected, there are {len(found)}")

    def pending(self, session: str) -> str:
        """Returns the id of the approval that is pending in a session, as soon as there is one."""
        for _ in attempts():
            found = _checked(self.bob.get("/default/admin/approvals", params={"session": session})).json()["approvals"]
            for approval in found:
                if approval["state"] == "pending":
                    return str(approval["id"])
        raise AssertionError("no approval is pending")

    def answer(self, approval_id: str, how: str, note: str) -> None:
        _checked(self.bob.post(f"/default/admin/approvals/{approval_id}/{how}", json={"note": note}))


@contextmanager
def world_at(at: Addresses) -> Generator[World]:
    with _client(at.plane, at.owner_key) as owner, _client(at.plane, at.bob_key) as bob:
        yield World(at, owner, bob)


def attempts(seconds: float = 60) -> Generator[None]:
    """Paces a poll of what has no event."""
    pause = threading.Event()
    for _ in range(int(seconds * 20)):
        yield
        pause.wait(0.05)


def given() -> dict[str, str] | None:
    """Returns the addresses of programs that were started for several runs of the tests, by name."""
    text = os.environ.get("TOLLGATE_TEST_PROGRAMS")
    return None if text is None else json.loads(text)


@contextmanager
def program(args: list[str], env: Mapping[str, str], log: Path) -> Generator[dict[str, str]]:
    """Starts a program, and yields the addresses that it prints, by name."""
    path = {"PATH": os.environ["PATH"]}
    with log.open("w") as errors:
        child = subprocess.Popen(
            ["node", *args],
            cwd=checkout,
            env={**path, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            assert child.stdout is not None
            timer = threading.Timer(ready_s, child.kill)
            timer.start()
            announced: dict[str, str] = {}
            wanted = {"REST", "gRPC"} if "start" in args else {"hooks"}
            for line in child.stdout:
                match = re.fullmatch(r"  (\w+) +(\S+)\n", line)
                if match:
                    announced[match[1]] = match[2]
                if wanted <= announced.keys():
                    break
            timer.cancel()
            assert wanted <= announced.keys(), f"{args} announced {announced}: {log.read_text()[-2000:]}"
            yield announced
        finally:
            child.terminate()
            child.wait(60)
            if child.stdout is not None:
                child.stdout.close()


@contextmanager
def plane_and_sidecar() -> Generator[Addresses]:
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="tollgate-python-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        # The embedded PostgreSQL of root runs under another account.
        folder.chmod(0o711)
        owner_key = f"gsk_default_{secrets.token_hex(20)}"
        plane_env = {
            "TOLLGATE_OWNER_KEY": owner_key,
            "TOLLGATE_DATA_DIR": str(folder / "plane"),
            "TOLLGATE_PORT": "0",
            "TOLLGATE_GRPC_PORT": "0",
        }
        plane = stack.enter_context(program(["control-plane/bin.js", "start"], plane_env, folder / "plane.log"))
        with _client(plane["REST"], owner_key) as owner:
            sidecar_key, key, bob_key = _filled(owner)
        sidecar_env = {
            "TOLLGATE_KEY": sidecar_key,
            "TOLLGATE_CONTROL_PLANE": plane["gRPC"],
            "TOLLGATE_SPOOL_DIR": str(folder / "sidecar"),
            "TOLLGATE_SIDECAR_PORT": "0",
        }
        socket = folder / "sidecar.sock"
        if has_socket:
            sidecar_env["TOLLGATE_SOCKET"] = str(socket)
        sidecar = stack.enter_context(program(["sidecar/bin.js"], sidecar_env, folder / "sidecar.log"))
        address = sidecar["hooks"].removesuffix("/govern/tool-use")
        for _ in attempts(ready_s):
            if httpx.get(f"{address}/readyz", trust_env=False).is_success:
                break
        yield Addresses(address, f"unix:{socket}", plane["REST"], key, owner_key, bob_key)


def _filled(owner: httpx.Client) -> tuple[str, str, str]:
    """Puts the members, the policy and the agent into the workspace. Returns keys of the sidecar, ana and bob."""

    def new_key(uid: str | None, *scopes: str) -> str:
        named = {} if uid is None else {"uid": uid}
        body = {"name": f"{uid}-{scopes[0]}", "scopes": scopes, **named}
        return str(_checked(owner.post("/default/admin/keys", json=body)).json()["key"])

    for uid, role in (("ana", "member"), ("bob", "admin")):
        member = {"uid": uid, "email": f"{uid}@example.com", "role": role}
        _checked(owner.post("/default/admin/members", json=member))
    _checked(owner.put("/default/admin/workspacePolicy", json=workspace_policy))
    _checked(owner.post("/api/v1/agents", json=registered_agent))
    return new_key(None, "sidecar.sync"), new_key("ana", "govern"), new_key("bob", "admin.approvals")


def _client(plane: str, key: str) -> httpx.Client:
    return httpx.Client(base_url=plane, headers={"authorization": f"Bearer {key}"}, trust_env=False, timeout=30)


def _checked(answer: httpx.Response) -> httpx.Response:
    assert answer.is_success, f"{answer.request.url}: {answer.status_code} {answer.text}"
    return answer


def _end(_signal: int, _frame: FrameType | None) -> None:
    sys.exit()


def main() -> None:
    # That imports this module.
    from .frameworks.model import model_process

    signal.signal(signal.SIGTERM, _end)
    with plane_and_sidecar() as at, model_process() as model:
        print(json.dumps({**asdict(at), **model}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
