"""The adapter for the OpenAI Agents SDK, against the real one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    RunResult,
    RunResultStreaming,
    Span,
    Tool,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailData,
    ToolOutputText,
    Trace,
    TracingProcessor,
    UserError,
    WebSearchTool,
    function_tool,
    set_trace_processors,
    tool_input_guardrail,
)
from agents.mcp import MCPServerStdio
from agents.tool_context import ToolContext
from openai import AsyncOpenAI
from pydantic import BaseModel, computed_field

from tollgate_client import Gate, Run, ToolDenied, connect
from tollgate_client.openai_agents import Handoffs, govern, govern_server

from ..programs import World
from .conftest import decided, hops, mcp_server, wait_for
from .model import Model, calls, key

Done = list[object]
"""What the tools did."""


class Recorder(TracingProcessor):
    """Keeps the spans, and exports nothing."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []

    def on_trace_start(self, trace: Trace) -> None: ...

    def on_trace_end(self, trace: Trace) -> None: ...

    def on_span_start(self, span: Span[Any]) -> None: ...

    def on_span_end(self, span: Span[Any]) -> None:
        self.spans.append(span.span_data.export())

    def shutdown(self) -> None: ...

    def force_flush(self) -> None: ...


@pytest.fixture(autouse=True)
def recorder() -> Recorder:
    recorder = Recorder()
    set_trace_processors([recorder])
    return recorder


@pytest.fixture
def done() -> Done:
    return []


@pytest.fixture
def tools(done: Done) -> list[Tool]:
    @function_tool
    def github_create_issue(title: str) -> str:
        done.append(title)
        return f"created: {title}"

    @function_tool
    async def github_delete_repo(name: str) -> str:
        done.append(name)
        return f"deleted: {name}"

    @function_tool
    def mail_send(ctx: ToolContext[Any], to: str) -> str:
        done.append((to, ctx.tool_arguments, ctx.tool_call and ctx.tool_call.arguments))
        return f"queued for {to} by eve@corp.io"

    @function_tool
    async def payments_transfer(amount: int) -> str:
        done.append(amount)
        return "sent"

    @function_tool
    def github_read() -> str:
        done.append("read")
        if len(done) == 1:
            raise ValueError("try again")
        return "read"

    return [github_create_issue, github_delete_repo, mail_send, payments_transfer, github_read]


@pytest.fixture
def run(gate: Gate) -> Iterator[Run]:
    with gate.run(agent="triage", tier="api") as run:
        yield run


def agent_of(model: Model, tools: list[Tool], name: str = "triage", **more: Any) -> Agent[Any]:
    client = AsyncOpenAI(base_url=f"{model.url}/v1", api_key=key)
    return Agent(name=name, tools=tools, model=OpenAIResponsesModel("gpt-5", client), **more)


def ask(agent: Agent[Any], **more: Any) -> RunResult:
    return wait_for(Runner.run(agent, "Work.", **more))


def test_deny(model: Model, tools: list[Tool], done: Done, run: Run, world: World) -> None:
    model.answers(calls("github_delete_repo", name="web"), "Understood.")
    assert ask(agent_of(model, govern(tools))).final_output == "Understood."
    assert done == []
    assert [entry["decision"] for entry in decided(world, run.session, 1)] == ["deny"]


def test_reason(model: Model, tools: list[Tool], run: Run) -> None:
    with pytest.raises(ToolDenied) as denied:
        run.decide("github_delete_repo", {"name": "web"})
    model.answers(calls("github_delete_repo", name="web"))
    ask(agent_of(model, govern(tools)))
    assert model.read() == [str(denied.value)]
    assert "policy_denied" in model.read()[0]


def test_an_allowed_call_runs_once_and_has_one_entry(
    model: Model, tools: list[Tool], done: Done, run: Run, world: World
) -> None:
    model.answers(calls("github_create_issue", title="It broke"))
    ask(agent_of(model, govern(tools)))
    assert done == ["It broke"]
    assert model.read() == ["created: It broke"]
    assert [(entry["tool"], entry["decision"]) for entry in decided(world, run.session, 1)] == [
        ("github_create_issue", "allow")
    ]


def test_redact_in(model: Model, tools: list[Tool], done: Done, run: Run) -> None:
    model.answers(calls("mail_send", to="bob@corp.io"))
    ask(agent_of(model, govern(tools)))
    given = '{"to": "[redacted:email#1]"}'
    assert done == [("[redacted:email#1]", given, given)]


def test_redact_out(model: Model, tools: list[Tool], run: Run) -> None:
    model.answers(calls("mail_send", to="bob@corp.io"))
    ask(agent_of(model, govern(tools)))
    assert model.read() == ["queued for [redacted:email#1] by [redacted:email#2]"]


def test_what_a_tool_raises_is_redacted(model: Model, run: Run) -> None:
    @function_tool(failure_error_function=None)
    def mail_read() -> str:
        raise LookupError("no box of bob@corp.io")

    model.answers(calls("mail_read"))
    with pytest.raises(UserError, match="redacted:email#1") as raised:
        ask(agent_of(model, govern([mail_read])))
    error: BaseException | None = raised.value
    while error is not None:
        assert "bob@corp.io" not in str(error)
        error = error.__cause__ or error.__context__


def test_an_output_that_has_no_form_is_the_text_that_the_model_would_read(model: Model, run: Run) -> None:
    class Letter:
        def __str__(self) -> str:
            return "from eve@corp.io"

    @function_tool
    def mail_read() -> Any:
        return Letter()

    model.answers(calls("mail_read"))
    ask(agent_of(model, govern([mail_read])))
    assert model.read() == ["from [redacted:email#1]"]


@dataclass
class Letter:
    owner: str

    def __str__(self) -> str:
        return f"by {self.owner}@corp.io"


class Card(BaseModel):
    owner: str

    @computed_field  # type: ignore[prop-decorator]
    @property
    def address(self) -> str:
        return f"{self.owner}@corp.io"


@pytest.mark.parametrize(
    ("output", "read"),
    [
        (Letter("eve"), "by [redacted:email#1]"),
        (Card(owner="eve"), "owner='eve' address='[redacted:email#1]'"),
        ([Decimal(1), "eve@corp.io"], "[Decimal('1'), '[redacted:email#1]']"),
        ({"by": "eve@corp.io"}, "{'by': '[redacted:email#1]'}"),
        (ToolOutputText(text="by eve@corp.io"), "by [redacted:email#1]"),
        ([ToolOutputText(text="by eve@corp.io")], "by [redacted:email#1]"),
        ({"type": "text", "text": "by eve@corp.io"}, "by [redacted:email#1]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_reported_is_what_the_model_reads(model: Model, run: Run, output: Any, read: str) -> None:
    @function_tool
    def mail_read() -> Any:
        return output

    model.answers(calls("mail_read"))
    ask(agent_of(model, govern([mail_read])))
    assert model.read() == [read]


@pytest.mark.parametrize("is_approved", [True, False])
def test_approval(model: Model, tools: list[Tool], done: Done, run: Run, world: World, is_approved: bool) -> None:
    model.answers(calls("payments_transfer", amount=500))

    async def both() -> None:
        asked = asyncio.create_task(Runner.run(agent_of(model, govern(tools)), "Work."))
        approval = await asyncio.to_thread(world.pending, run.session)
        assert done == []
        await asyncio.to_thread(world.answer, approval, "approve" if is_approved else "deny", "seen")
        await asked

    wait_for(both())
    assert done == ([500] if is_approved else [])
    assert ("sent" if is_approved else "approval_denied") in model.read()[0]


def test_chain(model: Model, tools: list[Tool], done: Done, run: Run, world: World) -> None:
    last = agent_of(model, govern(tools), "last")
    writer = agent_of(model, govern(tools), "writer", handoffs=[last])
    first = agent_of(model, govern(tools), handoffs=[writer])
    model.answers(
        calls("github_create_issue", title="1"),
        calls("transfer_to_writer"),
        calls("github_create_issue", title="2"),
        calls("transfer_to_last"),
        calls("github_create_issue", title="3"),
    )
    assert ask(first, hooks=Handoffs()).last_agent is last
    assert done == ["1", "2", "3"]
    chains = [hops(entry) for entry in decided(world, run.session, 3)]
    assert chains == [[], ["triage", "writer"], ["triage", "writer", "last"]]


def test_an_agent_as_a_tool_acts_by_delegation(
    model: Model, tools: list[Tool], done: Done, run: Run, world: World
) -> None:
    writer = agent_of(model, govern(tools, run), "writer").as_tool("ask_writer", "Writes.")
    model.answers(calls("ask_writer", input="Write."), calls("github_create_issue", title="2"), "Written.")
    ask(agent_of(model, govern([writer], run)))
    assert done == ["2"]
    assert model.read() == ["Written."]
    entries = [(entry["tool"], hops(entry)) for entry in decided(world, run.session, 2)]
    assert entries == [("ask_writer", []), ("github_create_issue", ["triage", "writer"])]


def test_streaming(model: Model, tools: list[Tool], done: Done, run: Run) -> None:
    model.answers([*calls("mail_send", to="bob@corp.io"), *calls("github_delete_repo", name="web")], "Understood.")

    async def stream() -> tuple[RunResultStreaming, list[str]]:
        result = Runner.run_streamed(agent_of(model, govern(tools)), "Work.")
        outputs = [
            str(event.item.output)
            async for event in result.stream_events()
            if event.type == "run_item_stream_event" and event.item.type == "tool_call_output_item"
        ]
        return result, outputs

    result, outputs = wait_for(stream())
    assert result.final_output == "Understood."
    assert [one[0] for one in done if isinstance(one, tuple)] == ["[redacted:email#1]"]
    assert sorted(outputs) == sorted(model.read())
    assert "bob@corp.io" not in "".join(outputs)
    assert "policy_denied" in "".join(outputs)


def test_parallel(model: Model, tools: list[Tool], done: Done, run: Run, world: World) -> None:
    titles = [str(at) for at in range(8)]
    turn = [call for title in titles for call in calls("github_create_issue", title=title)]
    model.answers([*turn, *calls("github_delete_repo", name="web")])
    ask(agent_of(model, govern(tools)))
    assert sorted(map(str, done)) == titles
    assert model.read()[:8] == [f"created: {title}" for title in titles]
    assert "policy_denied" in model.read()[8]
    assert len(decided(world, run.session, 9)) == 9


def test_cancelled(model: Model, tools: list[Tool], done: Done, run: Run, world: World) -> None:
    model.answers(calls("payments_transfer", amount=500))

    async def cancel() -> None:
        asked = asyncio.create_task(Runner.run(agent_of(model, govern(tools)), "Work."))
        approval = await asyncio.to_thread(world.pending, run.session)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await asyncio.to_thread(world.answer, approval, "approve", "too late")

    wait_for(cancel())
    assert done == []


def test_retry(model: Model, tools: list[Tool], done: Done, run: Run, world: World) -> None:
    # What the tool raises is told to the model by the SDK, and the model calls it again.
    model.answers(calls("github_read"), calls("github_read"))
    ask(agent_of(model, govern(tools)))
    assert done == ["read", "read"]
    first, second = model.read()
    assert "try again" in first
    assert second == "read"
    assert len(decided(world, run.session, 2)) == 2


def test_tracing(model: Model, tools: list[Tool], run: Run, recorder: Recorder) -> None:
    model.answers([*calls("mail_send", to="bob@corp.io"), *calls("github_delete_repo", name="web")])
    ask(agent_of(model, govern(tools)))
    spans = {span["name"]: span["output"] for span in recorder.spans if span["type"] == "function"}
    assert spans.keys() == {"mail_send", "github_delete_repo"}
    assert sorted(map(str, spans.values())) == sorted(model.read())


def test_raises_if_asked(model: Model, tools: list[Tool], done: Done, run: Run) -> None:
    model.answers(calls("github_delete_repo", name="web"))
    with pytest.raises(UserError, match="policy_denied") as raised:
        ask(agent_of(model, govern(tools, on_denied="raise")))
    assert isinstance(raised.value.__cause__, ToolDenied)
    assert done == []


def test_guardrails_and_approvals_of_the_sdk_stay(model: Model, done: Done, run: Run, world: World) -> None:
    @tool_input_guardrail
    def no_web(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        is_web = "web" in data.context.tool_arguments
        return (
            ToolGuardrailFunctionOutput.reject_content("Not the web.") if is_web else ToolGuardrailFunctionOutput(None)
        )

    @function_tool
    def github_create_issue(title: str) -> str:
        done.append(title)
        return "created"

    github_create_issue.tool_input_guardrails = [no_web]
    model.answers(calls("github_create_issue", title="web"))
    ask(agent_of(model, govern([github_create_issue])))
    assert model.read() == ["Not the web."]

    @function_tool(needs_approval=True)
    def github_read(title: str) -> str:
        done.append(title)
        return "read"

    model.answers(calls("github_read", title="3"))
    agent = agent_of(model, govern([github_read]))

    async def approve() -> None:
        paused = await Runner.run(agent, "Work.")
        assert done == []
        state = paused.to_state()
        state.approve(paused.interruptions[0])
        await Runner.run(agent, state)

    wait_for(approve())
    assert done == ["3"]
    # The calls that the SDK stopped were not decided.
    assert [entry["tool"] for entry in decided(world, run.session, 1)] == ["github_read"]


def test_a_call_outside_of_any_run_is_denied(model: Model, tools: list[Tool], done: Done) -> None:
    model.answers(calls("github_create_issue", title="1"))
    ask(agent_of(model, govern(tools)), hooks=Handoffs())
    assert "run_missing" in model.read()[0]
    assert done == []


def test_without_a_sidecar_no_tool_runs(model: Model, tools: list[Tool], done: Done) -> None:
    model.answers(calls("github_create_issue", title="1"))
    with connect(sidecar="http://127.0.0.1:9", key=key) as gate:
        ask(agent_of(model, govern(tools, gate.run(agent="triage", tier="api"))))
    assert "sidecar_unavailable" in model.read()[0]
    assert done == []


def test_arguments_that_are_no_object_are_denied(done: Done, run: Run) -> None:
    async def invoke(ctx: ToolContext[Any], text: str) -> str:
        done.append(text)
        return text

    (tool,) = govern([FunctionTool("own", "Takes any text.", {}, invoke, strict_json_schema=False)])
    assert isinstance(tool, FunctionTool)
    for text in ("[1]", '{"a": 1', '{"a": NaN}', "1"):
        ctx = ToolContext(None, tool_name="own", tool_call_id="1", tool_arguments=text)
        assert "call_malformed" in wait_for(tool.on_invoke_tool(ctx, text))  # type: ignore[arg-type]
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    ctx = ToolContext(None, tool_name="own", tool_call_id="1", tool_arguments=deep)
    assert "call_malformed" in wait_for(tool.on_invoke_tool(ctx, deep))  # type: ignore[arg-type]
    assert done == []


def test_the_tool_gets_the_text_of_what_was_decided(done: Done, run: Run) -> None:
    async def invoke(ctx: ToolContext[Any], text: str) -> str:
        done.append((text, ctx.tool_arguments))
        return text

    (tool,) = govern([FunctionTool("titled", "Takes any text.", {}, invoke, strict_json_schema=False)])
    assert isinstance(tool, FunctionTool)
    text = '{"title": "bad", "title": "good"}'
    ctx = ToolContext(None, tool_name="titled", tool_call_id="1", tool_arguments=text)
    wait_for(tool.on_invoke_tool(ctx, text))  # type: ignore[arg-type]
    assert done == [('{"title": "good"}', '{"title": "good"}')]


def test_an_error_of_the_client_is_a_denial(
    model: Model, tools: list[Tool], done: Done, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RecursionError("secret")

    monkeypatch.setattr(run, "adecide", broken)
    model.answers(calls("github_create_issue", title="1"))
    ask(agent_of(model, govern(tools)))
    assert "was not made: internal_error: " in model.read()[0]
    assert "secret" not in model.read()[0]
    assert done == []


def test_what_runs_at_the_provider_is_refused(tools: list[Tool], run: Run) -> None:
    with pytest.raises(ValueError, match="web_search"):
        govern([*tools, WebSearchTool()])
    with pytest.raises(ValueError, match="on_denied"):
        govern(tools, on_denied="ignore")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="run must be"):
        govern(tools, "triage")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_tools_of_an_mcp_server(model: Model, run: Run, tmp_path: Path) -> None:
    program, log = mcp_server(tmp_path)
    model.answers([*calls("mail_send", to="bob@corp.io"), *calls("github_delete_repo", name="web")])

    async def with_server() -> None:
        # The SDK waits 5 s for an answer, and a busy machine may need more to start a program.
        async with MCPServerStdio(
            {"command": sys.executable, "args": [str(program), str(log)]},
            name="desk",
            client_session_timeout_seconds=60,
        ) as desk:
            agent = agent_of(model, [], mcp_servers=[govern_server(desk)])
            await Runner.run(agent, "Work.", run_config=RunConfig())

    wait_for(with_server())
    assert log.read_text() == "[redacted:email#1]\n"
    sent, denied = model.read()
    assert sent == "queued for [redacted:email#1] by [redacted:email#2]"
    assert "policy_denied" in denied


def test_example(example: Callable[[str], list[str]], model: Model) -> None:
    model.answers([*calls("github_create_issue", title="It broke"), *calls("github_delete_repo", name="web")])
    created, denied = example("openai_agents")
    assert created == "created: It broke"
    assert denied.startswith('The call of "github_delete_repo" was not made: policy_denied: ')
