from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from opentelemetry.sdk.trace import TracerProvider

from tollgate_client import Gate, RedactedError, Run, ToolDenied
from tollgate_client.mcp import govern

from ..programs import World, attempts, checkout

T = TypeVar("T")


class Desk:
    """A server as a program of its own, and what it noted: the input of each call."""

    def __init__(self, notes: Path, world: World) -> None:
        self._notes = notes
        env = {**os.environ, "TOLLGATE_KEY": world.key, "TOLLGATE_SIDECAR": world.sidecar}
        if os.environ.get("PYTHONPATH"):
            env["PYTHONPATH"] = str(checkout / "clients/python/src")
        self._server = StdioServerParameters(
            command=sys.executable, args=[str(Path(__file__).with_name("mcp_server.py")), str(notes)], env=env
        )

    @property
    def done(self) -> list[Any]:
        return [json.loads(line) for line in self._notes.read_text().splitlines()]

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[ClientSession]:
        async with stdio_client(self._server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            yield session

    def with_session(self, work: Callable[[ClientSession], Awaitable[T]]) -> T:
        async def worked() -> T:
            async with self.session() as session:
                return await work(session)

        return asyncio.run(worked())

    def call(self, run: Run | None, tool: str, **given: object) -> dict[str, Any]:
        """Returns what the client's caller received, as JSON."""

        async def called(session: ClientSession) -> dict[str, Any]:
            return shown(await govern(session, run).call_tool(tool, given))

        return self.with_session(called)


def shown(result: Any) -> dict[str, Any]:
    found: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found


def text_of(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


@pytest.fixture
def desk(tmp_path: Path, world: World) -> Desk:
    notes = tmp_path / "notes"
    notes.touch()
    return Desk(notes, world)


@pytest.fixture
def run(gate: Gate) -> Run:
    return gate.run(agent="triage", tier="api", wait=20)


def test_deny(desk: Desk, run: Run, world: World) -> None:
    assert desk.call(run, "github_delete_repo", repo="web")["isError"] is True
    assert desk.done == []
    [entry] = world.entries(run.session, 1)
    assert (entry["tool"], entry["decision"]) == ("github_delete_repo", "deny")


def test_reason(desk: Desk, run: Run) -> None:
    read = text_of(desk.call(run, "github_delete_repo", repo="web"))
    assert read.startswith('The call of "github_delete_repo" was not made: policy_denied: ')
    assert read.endswith("continue without it or tell the user.")


def test_redact_in(desk: Desk, run: Run) -> None:
    assert text_of(desk.call(run, "mail_send", to="bob@corp.io")) == "sent"
    assert desk.done == ["[redacted:email#1]"]


def test_redact_out(desk: Desk, run: Run) -> None:
    result = desk.call(run, "mail_read", box="in")
    assert desk.done == ["in"]
    assert result["structuredContent"] == {"from": "[redacted:email#1]", "text": "hello"}
    assert json.loads(text_of(result)) == result["structuredContent"]
    assert not result.get("isError")


def test_redact_out_of_errors(desk: Desk, run: Run) -> None:
    result = desk.call(run, "mail_fail", box="in")
    assert result["isError"] is True
    assert text_of(result).endswith("no answer from [redacted:email#1]")


def test_redact_out_of_an_error_of_the_protocol(desk: Desk, run: Run) -> None:
    async def failing(session: ClientSession) -> str:
        async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
            raise OSError("no way to bob@corp.io")

        session.call_tool = call_tool  # type: ignore[method-assign,assignment]  # pyright: ignore
        with pytest.raises(RedactedError) as caught:
            await govern(session, run).call_tool("mail_read", {"box": "in"})
        return str(caught.value)

    assert desk.with_session(failing) == "no way to [redacted:email#1]"


def test_images_and_resources(desk: Desk, run: Run) -> None:
    image, resource = desk.call(run, "mail_attachments", box="in")["content"]
    assert image == {"type": "image", "data": "iVBORw0KGgoA/w==", "mimeType": "image/png"}
    assert resource["resource"]["text"] == "by [redacted:email#1]"


@pytest.mark.parametrize(("how", "done"), [("approve", [500]), ("deny", [])])
def test_approval(how: str, done: list[int], desk: Desk, run: Run, world: World) -> None:
    async def both(session: ClientSession) -> dict[str, Any]:
        working = asyncio.create_task(govern(session, run).call_tool("payments_transfer", {"amount": 500}))
        world.answer(await asyncio.to_thread(world.pending, run.session), how, "as agreed")
        return shown(await working)

    read = text_of(desk.with_session(both))
    assert desk.done == done
    assert ("paid: 500" if done else "approval_denied") in read


def test_chain(desk: Desk, run: Run, world: World) -> None:
    desk.call(run.delegate("writer"), "github_create_issue", title="It broke")
    assert desk.done == ["It broke"]
    assert world.entries(run.session, 2)[0]["chain"] == ["triage", "writer"]


def test_parallel(desk: Desk, run: Run, world: World) -> None:
    async def all_of_them(session: ClientSession) -> list[str]:
        govern(session, run)
        sent = [session.call_tool("mail_send", {"to": f"{name}@corp.io"}) for name in ("ann", "bob", "cid")]
        denied = session.call_tool("github_delete_repo", {"repo": "web"})
        return [text_of(shown(result)) for result in await asyncio.gather(*sent, denied)]

    read = desk.with_session(all_of_them)
    assert read[:3] == ["sent"] * 3
    assert "policy_denied" in read[3]
    assert len(desk.done) == 3
    assert all(re.fullmatch(r"\[redacted:email#\d\]", to) for to in desk.done)
    assert len([entry for entry in world.entries(run.session, 7) if entry["hookEvent"] == "PreToolUse"]) == 4


def test_cancelled(desk: Desk, run: Run, world: World) -> None:
    async def cancelled(session: ClientSession) -> None:
        govern(session, run)
        working = asyncio.create_task(session.call_tool("payments_transfer", {"amount": 500}))
        pending = await asyncio.to_thread(world.pending, run.session)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        world.answer(pending, "approve", "too late")
        # What would still wait for the answer would have been sent before this call.
        await session.call_tool("github_create_issue", {"title": "next"})

    desk.with_session(cancelled)
    assert desk.done == ["next"]


def test_progress(desk: Desk, run: Run) -> None:
    steps: list[float] = []

    async def watched(session: ClientSession) -> None:
        async def progress(progress: float, total: float | None, message: str | None) -> None:
            steps.append(progress)

        working = asyncio.create_task(govern(session, run).call_tool("slow", {"steps": 2}, progress_callback=progress))
        await asyncio.to_thread(until, lambda: "waits" in desk.done)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working

    desk.with_session(watched)
    assert steps == [1, 2]


def until(holds: Callable[[], bool]) -> None:
    for _ in attempts():
        if holds():
            return
    raise AssertionError("it did not come to hold")


def test_retry(desk: Desk, run: Run, world: World) -> None:
    async def twice(session: ClientSession) -> None:
        govern(session, run)
        for _ in range(2):
            assert shown(await session.call_tool("mail_fail", {"box": "in"}))["isError"] is True

    desk.with_session(twice)
    assert desk.done == ["in", "in"]
    decided = [entry for entry in world.entries(run.session, 4) if entry["hookEvent"] == "PreToolUse"]
    assert len({entry["requestId"] for entry in decided}) == 2


def test_tracing(desk: Desk, run: Run, world: World) -> None:
    with TracerProvider().get_tracer("test").start_as_current_span("agent") as span:
        desk.call(run, "github_create_issue", title="It broke")
        trace_id = f"{span.get_span_context().trace_id:032x}"
    assert {entry["traceId"] for entry in world.entries(run.session, 2)} == {trace_id}


def test_raises_if_asked(desk: Desk, run: Run) -> None:
    async def raised(session: ClientSession) -> str:
        with pytest.raises(ToolDenied) as caught:
            await govern(session, run, on_denied="raise").call_tool("github_delete_repo", {"repo": "web"})
        return caught.value.code

    assert desk.with_session(raised) == "policy_denied"
    assert desk.done == []


def test_wrong_arguments(desk: Desk, run: Run) -> None:
    async def wrong(session: ClientSession) -> None:
        with pytest.raises(ValueError, match='on_denied must be "tell" or "raise"'):
            govern(session, on_denied="ignore")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        govern(session, run)
        with pytest.raises(ValueError, match="governed already"):
            govern(session, run)

    desk.with_session(wrong)


def test_without_a_run_nothing_is_sent(desk: Desk) -> None:
    assert "run_missing" in text_of(desk.call(None, "github_create_issue", title="It broke"))
    assert desk.done == []


def test_the_current_run(desk: Desk, run: Run) -> None:
    with run:
        assert text_of(desk.call(None, "github_create_issue", title="It broke")) == "created: It broke"
    assert desk.done == ["It broke"]


def test_tools_of_a_server_are_guarded_functions(desk: Desk) -> None:
    async def both(session: ClientSession) -> list[dict[str, Any]]:
        given = ("own_delete", {"repo": "web"}), ("own_send", {"to": "bob@corp.io"}), ("own_check", {"box": "in"})
        return [shown(await session.call_tool(name, arguments)) for name, arguments in given]

    denied, sent, checked = desk.with_session(both)
    assert denied["isError"] is True
    assert 'The call of "github.delete_repo" was not made: policy_denied: ' in text_of(denied)
    assert desk.done == ["[redacted:email#1]", "in"]
    assert text_of(sent) == "sent to [redacted:email#1], from [redacted:email#2]"
    assert checked["isError"] is True
    assert text_of(checked).endswith("no in of [redacted:email#2]")


def test_what_a_guarded_tool_reports_is_what_the_client_reads(desk: Desk) -> None:
    async def both(session: ClientSession) -> list[dict[str, Any]]:
        return [shown(await session.call_tool(name, {"box": "in"})) for name in ("own_read", "own_sender", "own_list")]

    letter, sender, listed = desk.with_session(both)
    assert "corp.io" not in json.dumps([letter, sender, listed])
    # A computed field would be computed again.
    assert letter["isError"] is True
    assert 'The call of "mail.read" was made, and its output was withheld: redaction_unsupported: ' in text_of(letter)
    assert json.loads(text_of(sender)) == {"from": "[redacted:email#1]"}
    assert sender["structuredContent"] == {"result": [{"from": "[redacted:email#1]"}]}
    first, text, image = listed["content"]
    assert json.loads(first["text"]) == {"owner": "ann", "address": "[redacted:email#1]"}
    assert (text["text"], image["type"]) == ("by [redacted:email#1]", "image")


def test_example(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: Callable[[str], list[str]]
) -> None:
    monkeypatch.setenv("DESK_SERVER", str(Path(__file__).with_name("mcp_server.py")))
    monkeypatch.setenv("DESK_NOTES", str(tmp_path / "notes"))
    created, denied = example("mcp")
    assert created == "created: It broke"
    assert denied.startswith('The call of "github_delete_repo" was not made: policy_denied: ')
    assert (tmp_path / "notes").read_text().splitlines() == ['"It broke"']
