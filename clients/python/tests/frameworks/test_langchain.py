"""The adapter for LangChain and LangGraph, against the real ones."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain.messages import AIMessage, ToolMessage
from langchain.tools import InjectedToolCallId, ToolRuntime, tool
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send, interrupt
from pydantic import SecretStr

from tollgate_client import Run, ToolDenied, connect
from tollgate_client.langchain import TollgateInterceptor, TollgateMiddleware

from ..programs import World
from .conftest import decided, hops, mcp_server, wait_for
from .model import Model, calls, key

Done = list[object]
"""What the tools did."""

ways = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture
def done() -> Done:
    return []


@pytest.fixture
def tools(done: Done) -> list[BaseTool]:
    @tool
    def github_create_issue(title: str) -> str:
        """Creates an issue."""
        done.append(title)
        return f"created: {title}"

    @tool
    def github_delete_repo(name: str) -> str:
        """Deletes a repository."""
        done.append(name)
        return f"deleted: {name}"

    @tool
    def mail_send(to: str, runtime: ToolRuntime) -> str:
        """Sends a mail."""
        done.append(to)
        assert runtime.tool_call_id
        return f"queued for {to} by eve@corp.io"

    @tool
    def payments_transfer(amount: int) -> str:
        """Sends money."""
        done.append(amount)
        return "sent"

    return [github_create_issue, github_delete_repo, mail_send, payments_transfer]


def chat(model: Model) -> ChatOpenAI:
    return ChatOpenAI(model="gpt-5", base_url=f"{model.url}/v1", api_key=SecretStr(key), max_retries=0)


def agent_of(model: Model, tools: list[BaseTool], *middleware: AgentMiddleware[Any, Any, Any], **more: Any) -> Any:
    return create_agent(chat(model), tools, middleware=middleware or [TollgateMiddleware()], **more)


def ask(agent: Any, is_async: bool = False, **more: Any) -> dict[str, Any]:
    given = {"messages": [("user", "Work.")]}
    result = wait_for(agent.ainvoke(given, **more)) if is_async else agent.invoke(given, **more)
    return cast("dict[str, Any]", result)


def results(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


@ways
def test_deny(model: Model, tools: list[BaseTool], done: Done, run: Run, world: World, is_async: bool) -> None:
    model.answers(calls("github_delete_repo", name="web"), "Understood.")
    state = ask(agent_of(model, tools), is_async)
    assert state["messages"][-1].content == "Understood."
    assert [message.status for message in results(state)] == ["error"]
    assert done == []
    assert [entry["decision"] for entry in world.entries(run.session, 1)] == ["deny"]


@ways
def test_reason(model: Model, tools: list[BaseTool], run: Run, is_async: bool) -> None:
    with pytest.raises(ToolDenied) as denied:
        run.decide("github_delete_repo", {"name": "web"})
    model.answers(calls("github_delete_repo", name="web"))
    ask(agent_of(model, tools), is_async)
    assert model.read() == [str(denied.value)]
    assert "policy_denied" in model.read()[0]


@ways
def test_an_allowed_call_runs_once_and_is_decided_once(
    model: Model, tools: list[BaseTool], done: Done, run: Run, world: World, is_async: bool
) -> None:
    model.answers(calls("github_create_issue", title="It broke"))
    ask(agent_of(model, tools), is_async)
    assert done == ["It broke"]
    assert model.read() == ["created: It broke"]
    assert [entry["tool"] for entry in decided(world, run.session, 1)] == ["github_create_issue"]


@ways
def test_redact_in(model: Model, tools: list[BaseTool], done: Done, run: Run, is_async: bool) -> None:
    model.answers(calls("mail_send", to="bob@corp.io"))
    ask(agent_of(model, tools), is_async)
    assert done == ["[redacted:email#1]"]


@ways
def test_redact_out(model: Model, tools: list[BaseTool], run: Run, is_async: bool) -> None:
    model.answers(calls("mail_send", to="bob@corp.io"))
    ask(agent_of(model, tools), is_async)
    assert model.read() == ["queued for [redacted:email#1] by [redacted:email#2]"]


def test_content_blocks_and_artifacts_are_redacted(model: Model, run: Run) -> None:
    @tool(response_format="content_and_artifact")
    def mail_read() -> tuple[list[dict[str, Any]], dict[str, str]]:
        """Reads a mail."""
        return [{"type": "text", "text": "from eve@corp.io"}], {"to": "bob@corp.io"}

    model.answers(calls("mail_read"))
    (message,) = results(ask(agent_of(model, [mail_read])))
    assert model.read() == ["from [redacted:email#2]"]
    assert message.artifact == {"to": "[redacted:email#1]"}


def test_an_artifact_without_a_form_is_withheld(model: Model, run: Run) -> None:
    @tool(response_format="content_and_artifact")
    def mail_read() -> tuple[str, object]:
        """Reads a mail."""
        return "from eve@corp.io", object()

    model.answers(calls("mail_read"))
    (message,) = results(ask(agent_of(model, [mail_read])))
    assert message.artifact is None
    assert "its output was withheld" in model.read()[0]
    assert "eve" not in model.read()[0]


def test_commands_are_redacted(model: Model, run: Run) -> None:
    @tool
    def mail_read(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Reads a mail."""
        read = ToolMessage("from eve@corp.io", tool_call_id=tool_call_id)
        return Command(update={"messages": [read]})

    model.answers(calls("mail_read"))
    (message,) = results(ask(agent_of(model, [mail_read])))
    assert model.read() == ["from [redacted:email#1]"] == [message.content]


def test_what_a_tool_raises_is_redacted(model: Model, run: Run) -> None:
    @tool
    def mail_read() -> str:
        """Reads a mail."""
        raise LookupError("no box of bob@corp.io")

    model.answers(calls("mail_read"))
    with pytest.raises(Exception, match="redacted:email#1") as raised:
        ask(agent_of(model, [mail_read]))
    error: BaseException | None = raised.value
    while error is not None:
        assert "bob@corp.io" not in str(error)
        error = error.__cause__ or error.__context__


@ways
@pytest.mark.parametrize("is_approved", [True, False])
def test_approval(
    model: Model, tools: list[BaseTool], done: Done, run: Run, world: World, is_approved: bool, is_async: bool
) -> None:
    model.answers(calls("payments_transfer", amount=500))

    async def both() -> None:
        agent, given = agent_of(model, tools), {"messages": [("user", "Work.")]}
        asked = asyncio.create_task(agent.ainvoke(given) if is_async else asyncio.to_thread(agent.invoke, given))
        approval = await asyncio.to_thread(world.pending, run.session)
        assert done == []
        await asyncio.to_thread(world.answer, approval, "approve" if is_approved else "deny", "seen")
        await asked

    wait_for(both())
    assert done == ([500] if is_approved else [])
    assert ("sent" if is_approved else "approval_denied") in model.read()[0]


@ways
def test_chain(model: Model, tools: list[BaseTool], done: Done, run: Run, world: World, is_async: bool) -> None:
    """A supervisor that calls an agent as a tool, which calls another one."""
    last = agent_of(model, tools, TollgateMiddleware(agent="last"))

    @tool
    def ask_last(text: str, runtime: ToolRuntime) -> str:
        """Asks the last agent."""
        return str(last.invoke({"messages": [("user", text)]})["messages"][-1].content)

    writer = agent_of(model, [*tools, ask_last], TollgateMiddleware(agent="writer"))

    @tool
    def ask_writer(text: str) -> str:
        """Asks the writer."""
        return str(writer.invoke({"messages": [("user", text)]})["messages"][-1].content)

    model.answers(
        calls("ask_writer", text="Write."),
        calls("ask_last", text="Write."),
        calls("github_create_issue", title="3"),
    )
    ask(agent_of(model, [ask_writer]), is_async)
    assert done == ["3"]
    entries = [(entry["tool"], hops(entry)) for entry in decided(world, run.session, 3)]
    assert entries[1:] == [
        ("ask_last", ["triage", "writer"]),
        ("github_create_issue", ["triage", "writer", "last"]),
    ]


def test_a_handoff_between_nodes_of_a_graph_is_a_hop(
    model: Model, tools: list[BaseTool], done: Done, run: Run, world: World
) -> None:
    @tool
    def transfer_to_writer(runtime: ToolRuntime) -> Command[Any]:
        """Hands over to the writer."""
        moved = ToolMessage("moved", tool_call_id=str(runtime.tool_call_id))
        state = cast("dict[str, Any]", runtime.state)
        update = {"messages": [*state["messages"], moved]}
        return Command(goto=Send("writer", update), graph=Command.PARENT)

    graph = StateGraph(MessagesState)
    graph.add_node("first", agent_of(model, [transfer_to_writer]), destinations=("writer",))
    graph.add_node("writer", agent_of(model, tools, TollgateMiddleware(agent="writer")))
    graph.add_edge(START, "first")
    graph.add_edge("writer", END)
    model.answers(calls("transfer_to_writer"), calls("github_create_issue", title="2"), "Written.")
    state = ask(graph.compile())
    assert state["messages"][-1].content == "Written."
    assert done == ["2"]
    assert hops(decided(world, run.session, 2)[1]) == ["triage", "writer"]


def test_streaming(model: Model, tools: list[BaseTool], done: Done, run: Run) -> None:
    model.answers([*calls("mail_send", to="bob@corp.io"), *calls("github_delete_repo", name="web")], "Understood.")
    agent, seen = agent_of(model, tools), list[Any]()

    async def stream() -> None:
        given = {"messages": [("user", "Work.")]}
        async for _, chunk in agent.astream(given, stream_mode=["messages", "updates"]):
            seen.append(chunk)

    wait_for(stream())
    assert done == ["[redacted:email#1]"]
    sent, denied = model.read()
    assert sent == "queued for [redacted:email#1] by [redacted:email#2]"
    assert "policy_denied" in denied
    assert "eve@corp.io" not in str(seen)
    assert "Understood." in str(seen)


@ways
def test_parallel(model: Model, tools: list[BaseTool], done: Done, run: Run, world: World, is_async: bool) -> None:
    titles = [str(at) for at in range(8)]
    turn = [call for title in titles for call in calls("github_create_issue", title=title)]
    model.answers([*turn, *calls("github_delete_repo", name="web")])
    ask(agent_of(model, tools), is_async)
    assert sorted(map(str, done)) == titles
    assert model.read()[:8] == [f"created: {title}" for title in titles]
    assert "policy_denied" in model.read()[8]
    assert len(decided(world, run.session, 9)) == 9


def test_cancelled(model: Model, tools: list[BaseTool], done: Done, run: Run, world: World) -> None:
    model.answers(calls("payments_transfer", amount=500))

    async def cancel() -> None:
        asked = asyncio.create_task(agent_of(model, tools).ainvoke({"messages": [("user", "Work.")]}))
        approval = await asyncio.to_thread(world.pending, run.session)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await asyncio.to_thread(world.answer, approval, "approve", "too late")

    wait_for(cancel())
    assert done == []


@ways
def test_retry(model: Model, done: Done, run: Run, world: World, is_async: bool) -> None:
    @tool
    def github_read() -> str:
        """Reads."""
        done.append("read")
        if len(done) < 3:
            raise ValueError("try again")
        return "read"

    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0)
    model.answers(calls("github_read"))
    ask(agent_of(model, [github_read], retry, TollgateMiddleware()), is_async)
    assert done == ["read"] * 3
    assert model.read() == ["read"]
    assert len(decided(world, run.session, 3)) == 3


def test_tracing(model: Model, tools: list[BaseTool], run: Run) -> None:
    events: list[str] = []

    class Recorder(BaseCallbackHandler):
        def on_tool_start(self, serialized: dict[str, Any], input_str: str, **kwargs: Any) -> None:
            events.append(f"start {serialized['name']}")

        def on_tool_end(self, output: Any, **kwargs: Any) -> None:
            events.append(f"end {output.name}")

    model.answers([*calls("github_create_issue", title="1"), *calls("github_delete_repo", name="web")])
    ask(agent_of(model, tools), config={"callbacks": [Recorder()]})
    assert events == ["start github_create_issue", "end github_create_issue"]


@ways
def test_raises_if_asked(model: Model, tools: list[BaseTool], done: Done, run: Run, is_async: bool) -> None:
    model.answers(calls("github_delete_repo", name="web"))
    with pytest.raises(ToolDenied, match="policy_denied"):
        ask(agent_of(model, tools, TollgateMiddleware(on_denied="raise")), is_async)
    assert done == []


def test_an_interrupt_of_a_tool_stays_one(model: Model, done: Done, run: Run, world: World) -> None:
    @tool
    def github_read(title: str) -> str:
        """Reads."""
        done.append(interrupt("May I?"))
        return "read"

    agent = agent_of(model, [github_read], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    model.answers(calls("github_read", title="1"))
    assert "__interrupt__" in ask(agent, config=config)
    agent.invoke(Command(resume="yes"), config)
    assert done == ["yes"]
    assert model.read() == ["read"]
    # The framework begins the tool again, so it is decided again.
    assert len(decided(world, run.session, 2)) == 2


@ways
def test_a_tool_node_without_an_agent(tools: list[BaseTool], done: Done, run: Run, is_async: bool) -> None:
    middleware = TollgateMiddleware()
    node = ToolNode(tools, wrap_tool_call=middleware.wrap_tool_call, awrap_tool_call=middleware.awrap_tool_call)
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    asked = [
        {"name": "mail_send", "args": {"to": "bob@corp.io"}, "id": "1"},
        {"name": "github_delete_repo", "args": {"name": "web"}, "id": "2"},
    ]
    given = {"messages": [AIMessage("", tool_calls=asked)]}
    app: Any = graph.compile()
    sent, denied = results(wait_for(app.ainvoke(given)) if is_async else app.invoke(given))
    assert done == ["[redacted:email#1]"]
    assert sent.content == "queued for [redacted:email#1] by [redacted:email#2]"
    assert "policy_denied" in str(denied.content)


def test_tools_of_an_mcp_server(model: Model, run: Run, tmp_path: Path) -> None:
    program, log = mcp_server(tmp_path)
    model.answers([*calls("mail_send", to="bob@corp.io"), *calls("github_delete_repo", name="web")])

    async def with_server() -> None:
        client = MultiServerMCPClient(
            {"desk": {"transport": "stdio", "command": sys.executable, "args": [str(program), str(log)]}},
            tool_interceptors=[TollgateInterceptor()],
        )
        await create_agent(chat(model), await client.get_tools()).ainvoke({"messages": [("user", "Work.")]})

    wait_for(with_server())
    assert log.read_text() == "[redacted:email#1]\n"
    sent, denied = model.read()
    assert sent == "queued for [redacted:email#1] by [redacted:email#2]"
    assert "policy_denied" in denied


def test_a_call_outside_of_any_run_is_denied(model: Model, tools: list[BaseTool], done: Done) -> None:
    model.answers(calls("github_create_issue", title="1"))
    ask(agent_of(model, tools))
    assert "run_missing" in model.read()[0]
    assert done == []


@ways
def test_without_a_sidecar_no_tool_runs(model: Model, tools: list[BaseTool], done: Done, is_async: bool) -> None:
    model.answers(calls("github_create_issue", title="1"))
    with connect(sidecar="http://127.0.0.1:9", key=key) as gate:
        ask(agent_of(model, tools, TollgateMiddleware(gate.run(agent="triage", tier="api"))), is_async)
    assert "sidecar_unavailable" in model.read()[0]
    assert done == []


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="on_denied"):
        TollgateMiddleware(on_denied="ignore")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="run must be"):
        TollgateInterceptor("triage")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="agent"):
        TollgateMiddleware(agent="")


def test_example(example: Callable[[str], list[str]], model: Model) -> None:
    model.answers([*calls("github_create_issue", title="It broke"), *calls("github_delete_repo", name="web")])
    created, denied = example("langchain")
    assert created == "created: It broke"
    assert denied.startswith('The call of "github_delete_repo" was not made: policy_denied: ')
