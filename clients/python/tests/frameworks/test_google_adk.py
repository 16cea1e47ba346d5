from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode  # type: ignore[attr-defined]
from google.adk.events import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.reflect_retry_tool_plugin import ReflectAndRetryToolPlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel, computed_field, field_serializer

from tollgate_client import Gate, Run, ToolDenied, current_run, guard
from tollgate_client.google_adk import govern

from ..programs import World
from .model import Model, calls

spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)


class Desk:
    """Tools that note each of their calls in `done`, with the input that they got."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    @property
    def tools(self) -> list[Any]:
        return [
            self.github_create_issue,
            self.github_delete_repo,
            self.mail_send,
            self.mail_read,
            self.payments_transfer,
        ]

    def github_create_issue(self, title: str) -> str:
        self.done.append(title)
        return f"created: {title}"

    async def github_delete_repo(self, repo: str) -> str:
        self.done.append(repo)
        return f"deleted: {repo}"

    async def mail_send(self, to: str) -> str:
        self.done.append(to)
        return "sent"

    def mail_read(self, box: str) -> dict[str, str]:
        self.done.append(box)
        return {"from": "bob@corp.io", "text": "hello"}

    async def payments_transfer(self, amount: int) -> str:
        self.done.append(amount)
        return f"paid: {amount}"


@pytest.fixture(autouse=True)
def gemini(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", model.url)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def run(gate: Gate) -> Run:
    return gate.run(agent="triage", tier="api", wait=20)


def agent_of(*tools: Any, name: str = "triage", below: list[BaseAgent] | None = None) -> LlmAgent:
    return LlmAgent(name=name, model="gemini-2.5-flash", description=name, tools=list(tools), sub_agents=below or [])


async def worked(agent: BaseAgent, *plugins: BasePlugin, config: RunConfig | None = None) -> list[Event]:
    """Runs one message to its end."""
    async with InMemoryRunner(agent, app_name="desk", plugins=list(plugins)) as runner:
        session = await runner.session_service.create_session(app_name="desk", user_id="ana")
        message = types.Content(role="user", parts=[types.Part(text="Go.")])
        events = runner.run_async(
            user_id="ana", session_id=session.id, new_message=message, run_config=config or RunConfig()
        )
        return [event async for event in events]


def text_of(events: list[Event]) -> str:
    parts = [part.text for event in events for part in (event.content and event.content.parts) or () if part.text]
    return parts[-1]


def test_deny(model: Model, desk: Desk, run: Run, world: World) -> None:
    model.answers(calls("github_delete_repo", repo="web"), "I could not.")
    assert text_of(asyncio.run(worked(agent_of(*desk.tools), govern(run)))) == "I could not."
    assert desk.done == []
    [entry] = world.entries(run.session, 1)
    assert (entry["tool"], entry["decision"]) == ("github_delete_repo", "deny")


def test_reason(model: Model, desk: Desk, run: Run) -> None:
    model.answers(calls("github_delete_repo", repo="web"))
    asyncio.run(worked(agent_of(*desk.tools), govern(run)))
    [read] = [json.loads(text)["error"] for text in model.read()]
    assert read.startswith('The call of "github_delete_repo" was not made: policy_denied: ')
    assert read.endswith("continue without it or tell the user.")


def test_redact_in(model: Model, desk: Desk, run: Run) -> None:
    model.answers(calls("mail_send", to="bob@corp.io"))
    asyncio.run(worked(agent_of(*desk.tools), govern(run)))
    assert desk.done == ["[redacted:email#1]"]
    assert [json.loads(text) for text in model.read()] == [{"result": "sent"}]


def test_redact_out(model: Model, desk: Desk, run: Run) -> None:
    model.answers(calls("mail_read", box="in"))
    asyncio.run(worked(agent_of(*desk.tools), govern(run)))
    assert desk.done == ["in"]
    assert [json.loads(text) for text in model.read()] == [{"from": "[redacted:email#1]", "text": "hello"}]
    assert "bob@corp.io" not in json.dumps(model.received())


class Letter(BaseModel):
    owner: str = "bob"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def address(self) -> str:
        return f"{self.owner}@corp.io"


class Coded(BaseModel):
    owner: str = "bob"

    @field_serializer("owner")
    def written(self, owner: str) -> str:
        return f"{owner}@corp.io"


@pytest.mark.parametrize(
    ("made", "read"),
    [
        (Letter, {"result": {"owner": "bob", "address": "[redacted:email#1]"}}),
        (lambda: {"letters": [Letter()]}, {"letters": [{"owner": "bob", "address": "[redacted:email#1]"}]}),
        (Coded, {"result": {"owner": "[redacted:email#1]"}}),
    ],
)
def test_what_is_reported_is_what_the_model_reads(
    made: Callable[[], Any], read: dict[str, Any], model: Model, run: Run
) -> None:
    def mail_take(box: str) -> Any:
        return made()

    model.answers(calls("mail_take", box="in"))
    asyncio.run(worked(agent_of(mail_take), govern(run)))
    assert [json.loads(text) for text in model.read()] == [read]
    assert "corp.io" not in json.dumps(model.received())


def test_redact_out_of_exceptions(model: Model, desk: Desk, run: Run) -> None:
    async def mail_check(box: str) -> str:
        desk.done.append(box)
        raise RuntimeError("no answer from bob@corp.io")

    model.answers(calls("mail_check", box="in"), "Too bad.")
    asyncio.run(worked(agent_of(mail_check), govern(run)))
    assert [json.loads(text) for text in model.read()] == [{"error": "no answer from [redacted:email#1]"}]
    assert "bob@corp.io" not in json.dumps(model.received())
    assert desk.done == ["in"]


def test_an_exception_that_is_not_redacted_ends_the_runner_as_without_the_plugin(model: Model, run: Run) -> None:
    def fail(box: str) -> str:
        raise RuntimeError(f"no {box}")

    model.answers(calls("fail", box="in"))
    with pytest.raises(RuntimeError, match=r"^no in$"):
        asyncio.run(worked(agent_of(fail), govern(run)))


def test_an_output_without_form_is_withheld(model: Model, desk: Desk, run: Run) -> None:
    def probe(page: str) -> dict[str, Any]:
        desk.done.append(page)
        return {"page": object()}

    model.answers(calls("probe", page="home"))
    asyncio.run(worked(agent_of(probe), govern(run)))
    assert desk.done == ["home"]
    assert json.loads(model.read()[0])["error"].startswith('The call of "probe" was made, and its output was withheld')


@pytest.mark.parametrize(("how", "done"), [("approve", [500]), ("deny", [])])
def test_approval(how: str, done: list[int], model: Model, desk: Desk, run: Run, world: World) -> None:
    async def both() -> None:
        working = asyncio.create_task(worked(agent_of(*desk.tools), govern(run)))
        world.answer(await asyncio.to_thread(world.pending, run.session), how, "as agreed")
        await working

    model.answers(calls("payments_transfer", amount=500))
    asyncio.run(both())
    assert desk.done == done
    assert ("paid: 500" if done else "approval_denied") in model.read()[0]


def chains(world: World, session: str, count: int) -> list[tuple[str, Any]]:
    """Returns the tool and the chain of each decision, as soon as there are `count` entries."""
    entries = world.entries(session, count)
    return [(entry["tool"], entry.get("chain")) for entry in entries if entry["hookEvent"] == "PreToolUse"]


def test_chain(model: Model, desk: Desk, run: Run, world: World) -> None:
    writer = agent_of(*desk.tools, name="writer")
    model.answers(
        calls("transfer_to_agent", agent_name="writer"), calls("github_create_issue", title="It broke"), "Written."
    )
    with run:
        asyncio.run(worked(agent_of(below=[writer]), govern()))
        found = chains(world, run.session, 4)
    assert desk.done == ["It broke"]
    assert found == [("transfer_to_agent", None), ("github_create_issue", ["triage", "writer"])]


@pytest.mark.parametrize("is_explicit", [True, False])
def test_chain_of_an_agent_as_a_tool(is_explicit: bool, model: Model, desk: Desk, run: Run, world: World) -> None:
    @guard("inner")
    async def inner(text: str) -> str:
        return current_run().agent

    async def lookup(text: str) -> str:
        desk.done.append(await inner(text))
        return "found"

    writer = agent_of(lookup, *desk.tools, name="writer")
    model.answers(
        calls("writer", request="Write it."),
        calls("lookup", text="a"),
        calls("github_create_issue", title="It broke"),
        "Written.",
        calls("github_create_issue", title="Again"),
    )
    with run:
        asyncio.run(worked(agent_of(AgentTool(writer), *desk.tools), govern(run) if is_explicit else govern()))
        found = chains(world, run.session, 10)
        assert current_run() is run
    assert desk.done == ["writer", "It broke", "Again"]
    hop = ["triage", "writer"]
    assert found == [
        ("writer", None),
        ("lookup", hop),
        ("inner", hop),
        ("github_create_issue", hop),
        ("github_create_issue", None),
    ]


def test_streaming(model: Model, desk: Desk, run: Run) -> None:
    model.answers(
        [*calls("github_create_issue", title="It broke"), *calls("github_delete_repo", repo="web")], "One was denied."
    )
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    events = asyncio.run(worked(agent_of(*desk.tools), govern(run), config=config))
    assert any(event.partial for event in events)
    assert text_of(events) == "One was denied."
    assert desk.done == ["It broke"]
    created, denied = map(json.loads, model.read())
    assert created == {"result": "created: It broke"}
    assert denied["error"].startswith('The call of "github_delete_repo" was not made: policy_denied: ')


def test_parallel(model: Model, desk: Desk, run: Run, world: World) -> None:
    met = asyncio.Event()

    async def mail_together(to: str) -> str:
        desk.done.append(to)
        if len(desk.done) == 3:
            met.set()
        # No call ends before all three are in the tool.
        await met.wait()
        return f"sent to {to}"

    people = ["ann@corp.io", "bob@corp.io", "cid@corp.io"]
    requested = [call for to in people for call in calls("mail_together", to=to)]
    model.answers([*requested, *calls("github_delete_repo", repo="web")])
    asyncio.run(worked(agent_of(mail_together, *desk.tools), govern(run)))
    assert len(desk.done) == 3
    assert all(re.fullmatch(r"\[redacted:email#\d\]", to) for to in desk.done)
    assert [text.partition(" to ")[0] for text in model.read()[:3]] == ['{"result":"sent'] * 3
    assert len(chains(world, run.session, 7)) == 4


def test_cancelled(model: Model, desk: Desk, run: Run, world: World) -> None:
    async def cancelled() -> None:
        working = asyncio.create_task(worked(agent_of(*desk.tools), govern(run)))
        pending = await asyncio.to_thread(world.pending, run.session)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        world.answer(pending, "approve", "too late")
        # What would still wait for the answer would be in the tool before this call has its decision.
        await run.adecide("github_create_issue", {"title": "next"})

    model.answers(calls("payments_transfer", amount=500))
    asyncio.run(cancelled())
    assert desk.done == []


def test_retry(model: Model, desk: Desk, run: Run, world: World) -> None:
    async def search(text: str) -> str:
        desk.done.append(text)
        if len(desk.done) == 1:
            raise RuntimeError("Use another word.")
        return "found"

    model.answers(calls("search", text="a"), calls("search", text="b"))
    asyncio.run(worked(agent_of(search), govern(run), ReflectAndRetryToolPlugin(max_retries=3)))
    assert desk.done == ["a", "b"]
    assert "Use another word." in model.read()[0]
    decided = [entry for entry in world.entries(run.session, 4) if entry["hookEvent"] == "PreToolUse"]
    assert len({entry["requestId"] for entry in decided}) == 2


def test_tracing(model: Model, desk: Desk, run: Run, world: World) -> None:
    spans.clear()
    model.answers([*calls("mail_read", box="in"), *calls("github_delete_repo", repo="web")])
    asyncio.run(worked(agent_of(*desk.tools), govern(run)))
    found = {span.name: span for span in spans.get_finished_spans()}
    by_tool = {entry["tool"]: entry["traceId"] for entry in world.entries(run.session, 3)}
    for name in ("mail_read", "github_delete_repo"):
        span = found[f"execute_tool {name}"]
        assert span.context is not None
        assert by_tool[name] == f"{span.context.trace_id:032x}"
    shown = json.dumps([dict(span.attributes or {}) for span in found.values()], default=str)
    assert "bob@corp.io" not in shown


def test_raises_if_asked(model: Model, desk: Desk, run: Run) -> None:
    model.answers(calls("github_delete_repo", repo="web"))
    with pytest.raises(RuntimeError) as caught:
        asyncio.run(worked(agent_of(*desk.tools), govern(run, on_denied="raise")))
    cause = caught.value.__cause__
    assert isinstance(cause, ToolDenied)
    assert cause.code == "policy_denied"
    assert desk.done == []
    assert len(model.received()) == 1


def test_on_denied_is_one_of_two_words() -> None:
    with pytest.raises(ValueError, match='on_denied must be "tell" or "raise"'):
        govern(on_denied="ignore")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_without_a_run_nothing_runs(model: Model, desk: Desk) -> None:
    model.answers(calls("github_create_issue", title="It broke"))
    asyncio.run(worked(agent_of(*desk.tools), govern()))
    assert desk.done == []
    assert "run_missing" in model.read()[0]


def test_an_error_of_the_plugin_lets_no_call_through(
    model: Model, desk: Desk, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise OSError("broken")

    monkeypatch.setattr(run, "adecide", broken)
    model.answers(calls("github_create_issue", title="It broke"))
    asyncio.run(worked(agent_of(*desk.tools), govern(run)))
    assert "was not made: internal_error: " in model.read()[0]
    assert desk.done == []


def test_what_other_plugins_read_is_decided_and_redacted(model: Model, desk: Desk, run: Run) -> None:
    seen: list[Any] = []

    class Reader(BasePlugin):
        async def before_tool_callback(self, *, tool_args: dict[str, Any], **_: Any) -> None:
            seen.append(dict(tool_args))

    model.answers(calls("mail_send", to="bob@corp.io"))
    asyncio.run(worked(agent_of(*desk.tools), govern(run), Reader(name="reader")))
    assert seen == [{"to": "[redacted:email#1]"}]


def test_example(model: Model, example: Callable[[str], list[str]]) -> None:
    model.answers(
        [*calls("github_create_issue", title="It broke"), *calls("github_delete_repo", repo="web")],
        "I filed it. The repository must stay.",
    )
    printed = example("google_adk")
    assert "created: It broke" in printed
    assert "deleted: web" not in printed
    assert printed[-1] == "triage > I filed it. The repository must stay."
    assert "policy_denied" in model.read()[1]
