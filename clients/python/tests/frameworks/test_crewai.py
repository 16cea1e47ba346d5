"""CrewAI against a real sidecar and a scripted model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from crewai import LLM, Agent, Crew, Task
from crewai.events import ToolUsageFinishedEvent, ToolUsageStartedEvent, crewai_event_bus
from crewai.hooks import HookAborted, get_after_tool_call_hooks, get_before_tool_call_hooks
from crewai.tools import BaseTool, tool

from tollgate_client import Gate, Run, ToolDenied, connect
from tollgate_client.crewai import govern

from ..programs import World
from .model import Model, calls

logging.getLogger("crewai").setLevel(logging.ERROR)
address = "bob@corp.io"
mark = "[redacted:email#1]"
Called = list[tuple[Any, ...]]


@pytest.fixture
def called() -> Called:
    """What the tools of the test were called with."""
    return []


@pytest.fixture
def tools(called: Called) -> list[BaseTool]:
    @tool("github.create_issue")
    def create_issue(title: str) -> str:
        """Creates an issue."""
        called.append(("create", title))
        return f"created: {title}"

    @tool("github.delete_repo")
    def delete_repo(repo: str) -> str:
        """Deletes a repository."""
        called.append(("delete", repo))
        return f"deleted: {repo}"

    @tool("mail.send")
    def send(to: str) -> str:
        """Sends a mail."""
        called.append(("send", to))
        if to == "absent":
            raise ValueError(f"no mailbox of {address}")
        return f"queued for {address}"

    @tool("payments.transfer")
    def transfer(amount: int) -> str:
        """Transfers money."""
        called.append(("transfer", amount))
        return "sent"

    return [create_issue, delete_repo, send, transfer]


def llm_of(model: Model, *, stream: bool = False) -> Any:
    return LLM(model="openai/gpt-4o-mini", base_url=f"{model.url}/v1", api_key="none", stream=stream)


def agent_of(llm: Any, tools: list[BaseTool], role: str = "triage", **more: Any) -> Agent:
    return Agent(role=role, goal="Help.", backstory="You help.", llm=llm, tools=tools, **more)


def crew_of(llm: Any, tools: list[BaseTool], role: str = "triage", **more: Any) -> Crew:
    agent = agent_of(llm, tools, role)
    task = Task(description="Work on {it}.", expected_output="A word.", agent=agent)
    return Crew(agents=[agent], tasks=[task], **more)


inputs = {"it": "it"}
delete = calls("github_delete_repo", repo="web")
create = calls("github_create_issue", title="It broke")


def test_deny(model: Model, run: Run, tools: list[BaseTool], called: Called, world: World) -> None:
    model.answers(delete, create)
    with govern(run):
        crew_of(llm_of(model), tools).kickoff(inputs)
    assert called == [("create", "It broke")]
    denied, before, after = world.entries(run.session, 3)
    assert (denied["decision"], denied["tool"]) == ("deny", "github.delete_repo")
    assert [one["hookEvent"] for one in (before, after)] == ["PreToolUse", "PostToolUse"]


def test_reason(model: Model, run: Run, tools: list[BaseTool]) -> None:
    model.answers(delete)
    with govern(run):
        crew_of(llm_of(model), tools).kickoff(inputs)
    [read] = model.read()
    assert read.startswith('The call of "github.delete_repo" was not made: policy_denied: ')


def test_redact_in(model: Model, run: Run, tools: list[BaseTool], called: Called) -> None:
    model.answers(calls("mail_send", to=address))
    with govern(run):
        crew_of(llm_of(model), tools).kickoff(inputs)
    assert called == [("send", mark)]


def test_redact_out(model: Model, run: Run, tools: list[BaseTool]) -> None:
    model.answers(calls("mail_send", to="x"), calls("mail_send", to="absent"))
    with govern(run):
        crew_of(llm_of(model), tools).kickoff(inputs)
    sent, failed = model.read()
    assert sent == f"queued for {mark}"
    assert f"no mailbox of {mark}" in failed


def test_approval(model: Model, run: Run, tools: list[BaseTool], called: Called, world: World) -> None:
    model.answers(calls("payments_transfer", amount=500))

    async def scenario() -> None:
        with govern(run):
            crew = asyncio.create_task(crew_of(llm_of(model), tools).kickoff_async(inputs))
            approval_id = await asyncio.to_thread(world.pending, run.session)
            assert called == []
            await asyncio.to_thread(world.answer, approval_id, "approve", "known recipient")
            await crew

    asyncio.run(scenario())
    assert called == [("transfer", 500)]


def test_chain(model: Model, run: Run, tools: list[BaseTool], called: Called, world: World) -> None:
    llm = llm_of(model)
    lead = agent_of(llm, [], "lead", allow_delegation=True)
    writer = agent_of(llm, tools, "writer")
    task = Task(description="Work.", expected_output="A word.", agent=lead)
    handed = calls("delegate_work_to_coworker", task="Write.", context="None.", coworker="writer")
    model.answers(handed, create)
    with govern(run):
        Crew(agents=[lead, writer], tasks=[task]).kickoff()
    assert called == [("create", "It broke")]
    chains = {entry["tool"]: entry.get("chain") for entry in world.entries(run.session, 4)}
    assert chains["github.create_issue"] == ["triage", "lead", "writer"]
    assert [chain for tool, chain in chains.items() if tool != "github.create_issue"] == [["triage", "lead"]]


def test_streaming(model: Model, run: Run, tools: list[BaseTool], called: Called) -> None:
    model.answers(delete, create)
    with govern(run):
        streamed = crew_of(llm_of(model, stream=True), tools, stream=True).kickoff(inputs)
        assert [chunk.content for chunk in streamed] != []  # type: ignore[union-attr]  # pyright: ignore
    assert called == [("create", "It broke")]
    assert "policy_denied" in model.read()[0]


def test_parallel(model: Model, run: Run, tools: list[BaseTool], called: Called) -> None:
    model.answers([*create, *delete, *calls("github_create_issue", title="Another"), *delete])
    with govern(run):
        crew_of(llm_of(model), tools).kickoff(inputs)
    assert sorted(called) == [("create", "Another"), ("create", "It broke")]
    assert [("policy_denied" in read) for read in model.read()] == [False, True, False, True]


def test_cancelled(model: Model, gate: Gate, tools: list[BaseTool], called: Called, world: World) -> None:
    """CrewAI cannot stop a thread. A call that waits at the end of the block is not made."""
    model.answers(calls("payments_transfer", amount=501))
    with ThreadPoolExecutor() as pool:
        with gate.run(agent="triage", tier="api") as run, govern(run):
            crew = pool.submit(crew_of(llm_of(model), tools).kickoff, inputs)
            approval_id = world.pending(run.session)
        world.answer(approval_id, "approve", "too late")
        crew.result(60)
    assert called == []


def test_retry(model: Model, run: Run, tools: list[BaseTool], called: Called, world: World) -> None:
    model.answers(calls("mail_send", to="absent"), calls("mail_send", to="absent"))
    with govern(run):
        crew_of(llm_of(model), tools).kickoff(inputs)
    assert called == [("send", "absent")] * 2
    assert [one["hookEvent"] for one in world.entries(run.session, 4)] == ["PreToolUse", "PostToolUse"] * 2


def said(tool: str, given: str) -> str:
    return f"Thought: I call it.\nAction: {tool}\nAction Input: {given}"


def test_a_model_without_tool_calls(
    model: Model, run: Run, tools: list[BaseTool], called: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = llm_of(model)
    monkeypatch.setattr(type(llm), "supports_function_calling", lambda _: False)
    model.answers(
        said("github_delete_repo", '{"repo": "web"}'),
        said("mail_send", '{"to": "bob@corp.io"}'),
        said("mail_send", '{"to": "absent"}'),
        "Thought: I know.\nFinal Answer: Done.",
    )
    with govern(run):
        crew_of(llm, tools).kickoff(inputs)
    # CrewAI itself would call what raised six times.
    assert called == [("send", mark), ("send", "absent")]
    read = str(model.received()[-1]["messages"])
    assert "policy_denied" in read
    assert f"queued for {mark}" in read
    assert f"no mailbox of {mark}" in read


def test_an_answer_that_is_the_result_of_a_tool_is_redacted(
    model: Model, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool("mail.read", result_as_answer=True)
    def read(box: str) -> str:
        """Reads mail."""
        return f"{box}: from {address}"

    llm = llm_of(model)
    model.answers(calls("mail_read", box="in"))
    with govern(run):
        assert crew_of(llm, [read]).kickoff(inputs).raw == f"in: from {mark}"  # type: ignore[union-attr]
        monkeypatch.setattr(type(llm), "supports_function_calling", lambda _: False)
        model.answers(said("mail_read", '{"box": "in"}'))
        assert crew_of(llm, [read]).kickoff(inputs).raw == f"in: from {mark}"  # type: ignore[union-attr]


def test_the_cache_gives_nothing_that_was_not_decided(
    model: Model, gate: Gate, run: Run, tools: list[BaseTool], called: Called
) -> None:
    send = calls("mail_send", to="x")
    crew = crew_of(llm_of(model), tools, cache=True)
    model.answers(send, send)
    with govern(run):
        crew.kickoff(inputs)
    assert called == [("send", "x")]
    assert model.read() == [f"queued for {mark}"] * 2
    model.answers(send)
    with gate.run(agent="other", tier="api") as other, govern(other.delegate("clerk", tools=["github.*"])):
        crew.kickoff(inputs)
    assert called == [("send", "x")]
    assert "delegated_tools" in model.read()[0]


def test_tracing(model: Model, run: Run, tools: list[BaseTool]) -> None:
    started, finished = [], []
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(ToolUsageStartedEvent)
        def _(_source: Any, event: ToolUsageStartedEvent) -> None:
            started.append(event.tool_name)

        @crewai_event_bus.on(ToolUsageFinishedEvent)
        def _(_source: Any, event: ToolUsageFinishedEvent) -> None:
            finished.append((event.tool_name, event.output))

        model.answers(create, calls("mail_send", to="x"))
        with govern(run):
            crew_of(llm_of(model), tools).kickoff(inputs)
        crewai_event_bus.flush()
    assert started == ["github_create_issue", "mail_send"]
    assert sorted(finished) == [("github_create_issue", "created: It broke"), ("mail_send", f"queued for {mark}")]


def test_raises_if_asked(model: Model, run: Run, tools: list[BaseTool], called: Called) -> None:
    model.answers(delete, create)
    with govern(run, on_denied="raise"), pytest.raises(HookAborted, match="policy_denied") as caught:
        crew_of(llm_of(model), tools).kickoff(inputs)
    assert isinstance(caught.value.__cause__, ToolDenied)
    assert called == []
    with pytest.raises(ValueError, match="on_denied"), govern(run, on_denied="maybe"):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        pass


def test_the_hooks_are_those_of_the_block(model: Model, run: Run, tools: list[BaseTool], called: Called) -> None:
    model.answers(delete)
    with pytest.raises(KeyError), govern(run):
        raise KeyError
    assert get_before_tool_call_hooks() == get_after_tool_call_hooks() == []
    crew_of(llm_of(model), tools).kickoff(inputs)
    assert called == [("delete", "web")]


def test_blocks_in_threads_decide_their_own_calls(
    model: Model, gate: Gate, tools: list[BaseTool], called: Called, world: World
) -> None:
    def work(agent: str) -> str:
        with gate.run(agent=agent, tier="api") as run, govern(run):
            crew_of(llm_of(model), tools, role=agent).kickoff(inputs)
            return run.session

    model.answers(create, create)
    with ThreadPoolExecutor(2) as pool:
        sessions = list(pool.map(work, ["one", "two"]))
    assert len(called) == 2
    agents = [entry["agentName"] for session in sessions for entry in world.entries(session, 0)]
    assert set(agents) <= {"one", "two"}


def test_each_crew_of_several(model: Model, run: Run, tools: list[BaseTool], called: Called, world: World) -> None:
    model.answers(create, "Done.", create, "Done.")
    with govern(run):
        crew_of(llm_of(model), tools).kickoff_for_each([inputs, inputs])
    assert called == [("create", "It broke")] * 2
    assert len(world.entries(run.session, 4)) == 4


def test_without_a_run_nothing_is_called(model: Model, tools: list[BaseTool], called: Called) -> None:
    model.answers(create)
    with govern():
        crew_of(llm_of(model), tools).kickoff(inputs)
    assert called == []
    assert "run_missing" in model.read()[0]


def test_the_current_run_is_used(model: Model, run: Run, tools: list[BaseTool], called: Called) -> None:
    model.answers(delete, create)
    with govern():
        crew_of(llm_of(model), tools).kickoff(inputs)
    assert called == [("create", "It broke")]


def test_a_thread_without_the_context_is_decided_too(
    model: Model, run: Run, tools: list[BaseTool], called: Called
) -> None:
    model.answers(delete, create)
    with govern(run), ThreadPoolExecutor() as pool:
        pool.submit(crew_of(llm_of(model), tools).kickoff, inputs).result()
        assert called == [("create", "It broke")]
        model.answers(create)
        # Of two blocks it is not known which one it is of.
        with govern(run):
            pool.submit(crew_of(llm_of(model), tools).kickoff, inputs).result()
    assert called == [("create", "It broke")]
    assert "run_missing" in model.read()[0]


def test_without_a_sidecar_nothing_is_called(model: Model, tools: list[BaseTool], called: Called) -> None:
    model.answers(create)
    with (
        connect(sidecar="http://127.0.0.1:9", key="gsk_default_none") as gate,
        gate.run(agent="triage", tier="api") as run,
        govern(run),
    ):
        crew_of(llm_of(model), tools).kickoff(inputs)
    assert called == []
    assert "sidecar_unavailable" in model.read()[0]


@pytest.mark.parametrize(("method", "runs"), [("decide", 0), ("report", 1)])
def test_a_bug_in_a_hook_lets_nothing_through(
    model: Model,
    run: Run,
    tools: list[BaseTool],
    called: Called,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    runs: int,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"a bug, with {address}")

    monkeypatch.setattr(Run, method, broken)
    model.answers(create)
    with govern(run):
        crew_of(llm_of(model), tools).kickoff(inputs)
    assert len(called) == runs
    [read] = model.read()
    assert "internal_error" in read
    assert "created" not in read


def test_example(model: Model, example: Callable[[str], list[str]]) -> None:
    model.answers(create, delete)
    first, second = example("crewai")
    assert first == "created: It broke"
    assert "policy_denied: the workspace denies api calls of" in second
