"""
The cases of clients/conformance with this client, against a real control plane and a real sidecar. The other clients
run them in test/e2e/conformance.test.ts.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator
from pathlib import Path

import pytest

from tollgate_client import Gate, connect

from .conformance import Json, cases, differences, problems_of
from .policy import workspace_policy
from .programs import World, attempts, checkout, program

names = [case["name"] for case in cases]


@pytest.fixture(scope="module")
def member(world: World) -> Generator[Gate]:
    """The client with the policies of all cases, as soon as the sidecar has them."""
    tools = dict(workspace_policy["tools"])
    for case in cases:
        tools.update(case["policy"].get("workspace", {"tools": {}})["tools"])
        for agent_type, document in case["policy"].get("agentTypes", {}).items():
            world.owner.put(f"/default/admin/agentTypePolicies/{agent_type}", json=document).raise_for_status()
        for agent in case["policy"].get("agents", []):
            world.register(**agent)
    # The last write: where it holds, the others do.
    tools["conformance.ready"] = {"api": {"permission": "deny"}}
    world.put_policy({"tools": tools})
    with connect(sidecar=world.sidecar, key=world.key) as gate:
        ready: Json = {"name": "ready", "steps": [_denied("conformance.ready")], "policy": {}}
        for _ in attempts():
            if problems_of(ready, gate, world, secrets.token_hex(8)) == []:
                break
        yield gate
    world.put_policy(workspace_policy)


def _denied(tool: str) -> Json:
    return {
        "call": {"tool": tool, "input": {}},
        "answer": {"decision": "deny", "code": "policy_denied"},
        "entry": {"hookEvent": "PreToolUse", "tool": tool, "decision": "deny"},
    }


@pytest.fixture(scope="module")
def no_policy(world: World, tmp_path_factory: pytest.TempPathFactory) -> Generator[Gate]:
    """A sidecar that cannot reach its control plane."""
    folder: Path = tmp_path_factory.mktemp("sidecar")
    env = {
        "TOLLGATE_KEY": world.key,
        "TOLLGATE_CONTROL_PLANE": "127.0.0.1:1",
        "TOLLGATE_SPOOL_DIR": str(folder / "spool"),
        "TOLLGATE_SIDECAR_PORT": "0",
    }
    with (
        program(["sidecar/bin.js"], env, folder / "sidecar.log") as announced,
        connect(sidecar=announced["hooks"].removesuffix("/govern/tool-use"), key=world.key) as gate,
    ):
        yield gate


# A case that does not apply is no test: its file says why.
@pytest.mark.parametrize(
    "case", [case for case in cases if "python" not in case.get("skip", {})], ids=lambda case: case["name"]
)
def test_a_case(case: Json, world: World, request: pytest.FixtureRequest) -> None:
    gate: Gate = request.getfixturevalue("no_policy" if case.get("world") == "no policy" else "member")
    assert problems_of(case, gate, world, f"python {case['name']} {secrets.token_hex(4)}") == []


def test_all_cases_are_there_and_each_that_is_left_out_says_why() -> None:
    files = sorted(path.stem for path in (checkout / "clients/conformance/cases").iterdir())
    assert sorted(names) == files
    assert len(names) >= 60
    for case in cases:
        assert len(case.get("skip", {}).get("python", "it applies")) >= 10


def test_a_wrong_expectation_is_found(member: Gate, world: World) -> None:
    step = next(case for case in cases if case["name"] == "deny-with-reason")["steps"][0]

    def planted(**wrong: object) -> list[str]:
        case: Json = {"name": "planted", "policy": {}, "steps": [{**step, **wrong}]}
        return problems_of(case, member, world, f"python planted {secrets.token_hex(4)}")

    assert planted() == []
    (answer,) = planted(answer={"decision": "allow"})
    assert "steps[0].answer.decision" in answer
    (entry,) = planted(entry={"decision": "allow"})
    assert "steps[0].entry.decision" in entry
    (count,) = planted(entry=None)
    assert "0 entries are expected" in count
    assert differences({"a": [1, {"$contains": "x"}]}, {"a": [1.0, "axb"], "b": 2}, "p") == []
    assert len(differences([True, "1", None], [1, 1, 0], "p")) == 3
