"""The Claude Agent SDK, with the Claude Code that it brings, against a real sidecar and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    McpSdkServerConfig,
    ResultMessage,
    StreamEvent,
    ToolUseBlock,
    create_sdk_mcp_server,
    query,
    tool,
)
from claude_agent_sdk.types import AssistantMessage, HookContext, HookEvent, HookInput, HookJSONOutput

from tollgate_client import Run, connect
from tollgate_client.claude_agent_sdk import hooks

from ..programs import World
from ..stand_in import stand_in
from .model import Model, calls

address = "bob@corp.io"
mark = "[redacted:email#1]"
Hooks = dict[HookEvent, list[HookMatcher]]


@dataclass
class Desk:
    """The agent of a test, and what its tools were called with. `home`: of Claude Code, and where it works."""

    model: Model
    home: Path
    called: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def options(self, hooks: Hooks, **more: Any) -> ClaudeAgentOptions:
        servers = {
            "github": self._server("github", "create_issue", "delete_repo"),
            "mail": self._server("mail", "send", "fail"),
            "payments": self._server("payments", "transfer"),
        }
        mcp = [f"mcp__{name}" for name in servers]
        return ClaudeAgentOptions(
            model="claude-sonnet-4-5",
            hooks=hooks,
            mcp_servers=servers,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            allowed_tools=[*mcp, "Bash", "Read", "Agent", "Task"],
            cwd=self.home,
            setting_sources=[],
            env={"HOME": str(self.home), "ANTHROPIC_BASE_URL": self.model.url},
            **more,
        )

    def _server(self, name: str, *tools: str) -> McpSdkServerConfig:
        return create_sdk_mcp_server(name, tools=[self._tool(name, one) for one in tools])

    def _tool(self, server: str, name: str) -> Any:
        schema = {"type": "object", "properties": {}, "additionalProperties": True}

        @tool(name, "A tool.", schema)
        async def called(args: dict[str, Any]) -> dict[str, Any]:
            self.called.append((f"{server}.{name}", args))
            if name == "fail":
                raise RuntimeError(f"no mailbox of {address}")
            return {"content": [{"type": "text", "text": f"{name} did it for {address}"}]}

        return called

    def asks(self, hooks: Hooks, **more: Any) -> list[Any]:
        """Runs the agent to its end, and returns the messages of the SDK."""

        async def run() -> list[Any]:
            return [message async for message in query(prompt="Work.", options=self.options(hooks, **more))]

        return asyncio.run(run())


@pytest.fixture
def desk(model: Model, tmp_path: Path) -> Desk:
    return Desk(model, tmp_path)


delete = calls("mcp__github__delete_repo", repo="web")
create = calls("mcp__github__create_issue", title="It broke")


def test_deny(desk: Desk, run: Run, world: World) -> None:
    desk.model.answers(delete, create)
    desk.asks(hooks(run))
    assert desk.called == [("github.create_issue", {"title": "It broke"})]
    denied, before, after = world.entries(run.session, 3)
    assert (denied["decision"], denied["tool"]) == ("deny", "github.delete_repo")
    assert [one["hookEvent"] for one in (before, after)] == ["PreToolUse", "PostToolUse"]


def test_reason(desk: Desk, run: Run) -> None:
    desk.model.answers(delete)
    desk.asks(hooks(run))
    [read] = desk.model.read()
    assert 'The call of "github.delete_repo" was not made: policy_denied: ' in read
    assert "Trying again will not help" in read


def test_redact_in(desk: Desk, run: Run) -> None:
    desk.model.answers(calls("mcp__mail__send", to=[address], subject="hello"))
    desk.asks(hooks(run))
    assert desk.called == [("mail.send", {"to": [mark], "subject": "hello"})]


def test_redact_out(desk: Desk, run: Run) -> None:
    (desk.home / "note.txt").write_text(f"write to {address}\n")
    desk.model.answers(calls("mcp__mail__send", text="x"), calls("Read", file_path=str(desk.home / "note.txt")))
    desk.asks(hooks(run))
    sent, note = desk.model.read()
    assert sent.startswith(f"send did it for {mark}")
    assert f"write to {mark}" in note
    assert address not in str(desk.model.received())


def test_approval(desk: Desk, run: Run, world: World) -> None:
    desk.model.answers(calls("mcp__payments__transfer", amount=500))

    async def scenario() -> None:
        agent = asyncio.create_task(_to_end(desk.options(hooks(run))))
        approval_id = await asyncio.to_thread(world.pending, run.session)
        assert desk.called == []
        await asyncio.to_thread(world.answer, approval_id, "approve", "known recipient")
        await agent

    asyncio.run(scenario())
    assert desk.called == [("payments.transfer", {"amount": 500})], _account(desk, world, run)


def _account(desk: Desk, world: World, run: Run) -> str:
    """Says why a tool was not called."""
    decided = [(one["tool"], one["decision"], one["code"]) for one in world.entries(run.session, 1)]
    return f"the sidecar decided {decided}, and the model read {desk.model.read()}"


async def _to_end(options: ClaudeAgentOptions) -> list[Any]:
    return [message async for message in query(prompt="Work.", options=options)]


@pytest.mark.parametrize("in_background", [False, True])
def test_chain(desk: Desk, run: Run, world: World, in_background: bool) -> None:
    started = calls("Agent", description="d", prompt="p", subagent_type="writer", run_in_background=in_background)
    # In the background both agents ask the model, in either order.
    desk.model.answers(started, create, create) if in_background else desk.model.answers(started, create)
    writer = AgentDefinition(description="Writes.", prompt="You write.")
    desk.asks(hooks(run), agents={"writer": writer})
    assert ("github.create_issue", {"title": "It broke"}) in desk.called
    chains = {entry["tool"]: entry.get("chain") for entry in world.entries(run.session, 4)[:3]}
    assert chains["Agent"] is None
    assert chains["github.create_issue"] == ["triage", "writer"]


def test_streaming(desk: Desk, run: Run) -> None:
    desk.model.answers([*delete, *create])

    messages: list[Any] = []

    async def scenario() -> None:
        async with ClaudeSDKClient(desk.options(hooks(run), include_partial_messages=True)) as client:
            await client.query("Work.")
            messages.extend([message async for message in client.receive_response()])

    asyncio.run(scenario())
    assert any(isinstance(message, StreamEvent) for message in messages)
    assert desk.called == [("github.create_issue", {"title": "It broke"})]
    assert "policy_denied" in desk.model.read()[0]


def test_parallel(desk: Desk, run: Run) -> None:
    desk.model.answers([*create, *delete, *calls("mcp__github__create_issue", title="Another"), *delete])
    desk.asks(hooks(run))
    assert sorted(str(given["title"]) for _, given in desk.called) == ["Another", "It broke"]
    assert [("policy_denied" in read) for read in desk.model.read()] == [False, True, False, True]


def test_cancelled(desk: Desk, run: Run, world: World) -> None:
    desk.model.answers(calls("mcp__payments__transfer", amount=501), create)

    async def scenario() -> None:
        async with ClaudeSDKClient(desk.options(hooks(run))) as client:
            await client.query("Work.")
            approval_id = await asyncio.to_thread(world.pending, run.session)
            await client.interrupt()
            [ended] = [one async for one in client.receive_response() if isinstance(one, ResultMessage)]
            assert ended.terminal_reason == "aborted_tools"
            await asyncio.to_thread(world.answer, approval_id, "approve", "too late")

    asyncio.run(scenario())
    assert desk.called == []


def test_retry(desk: Desk, run: Run, world: World) -> None:
    once = calls("mcp__github__create_issue", title="It broke")
    desk.model.answers(once, once)
    desk.asks(hooks(run))
    assert len(desk.called) == 2
    entries = world.entries(run.session, 4)
    assert [entry["hookEvent"] for entry in entries] == ["PreToolUse", "PostToolUse"] * 2


def test_tracing(desk: Desk, run: Run) -> None:
    """The user's own hooks and the messages of the SDK show all calls."""
    seen: list[str] = []

    async def see(fields: HookInput, _id: str | None, _context: HookContext) -> HookJSONOutput:
        seen.append(fields["hook_event_name"])
        return {}

    ours = hooks(run)
    events: tuple[HookEvent, ...] = ("PreToolUse", "PostToolUse")
    both: Hooks = {**ours, **{event: [*ours[event], HookMatcher(hooks=[see])] for event in events}}
    desk.model.answers(delete, create)
    messages = desk.asks(both)
    assert seen == ["PreToolUse", "PreToolUse", "PostToolUse"]
    blocks = [block for one in messages if isinstance(one, AssistantMessage) for block in one.content]
    names = [block.name for block in blocks if isinstance(block, ToolUseBlock)]
    assert names == ["mcp__github__delete_repo", "mcp__github__create_issue"]


def test_raises_if_asked(desk: Desk, run: Run) -> None:
    desk.model.answers(delete, create)
    messages = desk.asks(hooks(run, on_denied="raise"))
    assert desk.called == []
    assert len(desk.model.received()) == 1
    assert isinstance(messages[-1], ResultMessage)
    assert messages[-1].stop_reason == "tool_use"
    with pytest.raises(ValueError, match="on_denied"):
        hooks(run, on_denied="maybe")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_built_in_tools(desk: Desk, run: Run) -> None:
    push, write = "touch pushed; git push", f"touch written; echo {address}"
    desk.model.answers(calls("Bash", command=push, description="d"), calls("Bash", command=write, description="d"))
    desk.asks(hooks(run))
    assert (desk.home / "written").exists()
    assert not (desk.home / "pushed").exists()
    denied, passed = desk.model.read()
    assert "policy_denied" in denied
    assert address in passed


def test_an_error_of_a_tool_is_reported_and_is_read_as_it_is(desk: Desk, run: Run, world: World) -> None:
    """The page of this adapter says so. If Claude Code ever takes a replaced error, this test tells."""
    desk.model.answers(calls("mcp__mail__fail"))
    desk.asks(hooks(run))
    assert address in desk.model.read()[0]
    entries = world.entries(run.session, 2)
    assert [entry["hookEvent"] for entry in entries] == ["PreToolUse", "PostToolUse"]
    assert address not in str(entries)


def test_without_a_run_nothing_is_called(desk: Desk) -> None:
    desk.model.answers(create)
    desk.asks(hooks())
    assert desk.called == []
    assert "run_missing" in desk.model.read()[0]


def test_the_current_run_is_used(desk: Desk, run: Run) -> None:
    desk.model.answers(delete, create)
    desk.asks(hooks())
    assert [name for name, _ in desk.called] == ["github.create_issue"]
    assert "policy_denied" in desk.model.read()[0]


def test_a_sidecar_that_does_not_answer_is_noticed_before_the_sdk_gives_up(desk: Desk, world: World) -> None:
    desk.model.answers(create)
    with (
        stand_in(lambda *_: None) as silent,
        connect(sidecar=silent.address, key=world.key, timeout=0.5) as gate,
        gate.run(agent="triage", tier="api") as run,
    ):
        desk.asks(hooks(run))
    assert desk.called == []
    assert "sidecar_unavailable" in desk.model.read()[0]


def test_a_hook_that_fails_does_not_let_the_call_run(desk: Desk, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"a bug, with {address}")

    monkeypatch.setattr(Run, "adecide", broken)
    desk.model.answers(create)
    desk.asks(hooks(run))
    assert desk.called == []
    assert "internal_error" in desk.model.read()[0]
    assert address not in str(desk.model.received())


async def _raises(_fields: HookInput, _id: str | None, _context: HookContext) -> HookJSONOutput:
    raise RuntimeError("a bug")


async def _hangs(_fields: HookInput, _id: str | None, _context: HookContext) -> HookJSONOutput:
    await asyncio.Event().wait()
    return {}


@pytest.mark.parametrize("broken", [_raises, _hangs])
def test_the_matcher_blocks_a_call_whose_hook_fails_or_hangs(desk: Desk, run: Run, broken: Any) -> None:
    """The last line, should a hook of ours ever fail outside of its own net."""
    ours = hooks(run)
    ours["PreToolUse"][0].hooks = [broken]
    assert (ours["PreToolUse"][0].timeout or 0) > 60 * 60
    ours["PreToolUse"][0].timeout = 1
    desk.model.answers(create)
    desk.asks(ours)
    assert desk.called == []


def test_an_output_is_withheld_if_its_report_fails(desk: Desk, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Run, "areport", broken)
    (desk.home / "note.txt").write_text("a secret\n")
    read = calls("Read", file_path=str(desk.home / "note.txt"))
    desk.model.answers(create, calls("Bash", command="echo a secret", description="d"), read)
    desk.asks(hooks(run))
    assert len(desk.called) == 1
    results = desk.model.read()
    assert len(results) == 3
    for result in results:
        assert "was made, and its output was withheld" in result
        assert "secret" not in result
        assert "did it" not in result


def test_example(model: Model, example: Callable[[str], list[str]]) -> None:
    model.answers(create, delete)
    first, second = example("claude_agent_sdk")
    assert first == "[{'type': 'text', 'text': 'created: It broke'}]"
    assert "policy_denied: the workspace denies api calls of" in second
