"""Connects to a sidecar, for threads and event loops alike."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ._address import address_from, key_from, standard_sidecar
from ._hook import read_approval
from ._run import Caller, Run, Tier, _named, _tier, seconds  # pyright: ignore[reportPrivateUsage]
from ._transport import Transport, drive, drive_async

version = "0.1.0"


class Gate:
    """A sidecar, and the key that calls are decided for. One gate serves all threads, event loops and forks."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def run(
        self,
        *,
        agent: str,
        tier: Tier,
        session: str | None = None,
        user: str | None = None,
        client: str = "tollgate",
        client_version: str = version,
        wait: float = 300,
    ) -> Run:
        """
        Starts a run. `session`: groups the calls in the audit log, for caps and for approvals; default: a new id.
        `user`: uid of the member that the agent works for, if not the key's own. `client`: the framework of the agent,
        the first part of its type. `wait`: how many seconds a call waits for a person at most.
        """
        caller = Caller(
            chain=(_named(agent, "agent"),),
            tier=_tier(tier),
            session=str(uuid.uuid4()) if session is None else _named(session, "session"),
            user=None if user is None else _named(user, "user"),
            client={"name": _named(client, "client"), "version": _named(client_version, "client_version")},
        )
        return Run(self._transport, caller, wait)

    def approval(self, approval_id: str) -> Mapping[str, Any] | None:
        """
        Returns what has become of an approval that this key asked for: `state`, and `note` of the person. None: there
        is no such approval. It changes nothing: the same call made again meets the answer. Raises `NoAnswer`.
        """
        return drive(read_approval(approval_id, self._transport.timeout_s), self._transport.send)

    async def aapproval(self, approval_id: str) -> Mapping[str, Any] | None:
        """The same in an event loop."""
        return await drive_async(read_approval(approval_id, self._transport.timeout_s), self._transport.send_async)

    def close(self) -> None:
        """Closes the connections. Later calls are denied."""
        self._transport.close()

    async def aclose(self) -> None:
        """The same in an event loop."""
        self.close()

    def __enter__(self) -> Gate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Gate:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def connect(
    *, sidecar: str | None = None, key: str | None = None, plaintext: bool | None = None, timeout: float = 10
) -> Gate:
    """
    Returns a gate. Nothing is sent yet. `sidecar`: `http://host:port` or `unix:/path`; default: TOLLGATE_SIDECAR, else
    `http://127.0.0.1:9090`. `key`: default: TOLLGATE_KEY. `plaintext`: allows http beyond this machine; default:
    TOLLGATE_ALLOW_PLAINTEXT. `timeout`: seconds until an answer must be there; the wait for a person is not in it.
    Raises `ValueError` if one of them is wrong.
    """
    env = os.environ
    if plaintext is not None and not isinstance(plaintext, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"plaintext must be True or False, is {plaintext!r}")
    allowed = env.get("TOLLGATE_ALLOW_PLAINTEXT") == "true" if plaintext is None else plaintext
    address = address_from(sidecar or env.get("TOLLGATE_SIDECAR") or standard_sidecar, plaintext=allowed)
    return Gate(
        Transport(
            address, key_from(key if key is not None else env.get("TOLLGATE_KEY")), seconds(timeout, "timeout", 0.001)
        )
    )
