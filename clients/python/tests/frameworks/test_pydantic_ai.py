from __future__ import annotations

import asyncio
import gc
import json
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel, Field, HttpUrl, computed_field
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRetry,
    RunContext,
    ToolFailed,
    ToolReturn,
    UserError,
)
from pydantic_ai.capabilities import AbstractCapability, Instrumentation
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.toolsets import FunctionToolset

from tollgate_client import Gate, Run, ToolDenied, current_run
from tollgate_client.pydantic_ai import govern

from ..programs import World
from .model import Model, calls, key

png = b"\x89PNG\r\n\x1a\n\x00\xff"


class Desk:
    """Tools that note each of their calls in `done`, with the input that they got."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.tools: FunctionToolset[Any] = FunctionToolset()
        self.tools.add_function(self.github_create_issue, takes_ctx=False)
        self.tools.add_function(self.github_delete_repo, takes_ctx=False)
        self.tools.add_function(self.mail_send, takes_ctx=False)
        self.tools.add_function(self.mail_read, takes_ctx=False)
        self.tools.add_function(self.payments_transfer, takes_ctx=False)

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


@pytest.fixture(scope="module", autouse=True)
def connections() -> Generator[None]:
    """Collects the connections of the event loop that `run_sync` leaves open, before pytest takes them for errors."""
    yield
    asyncio.set_event_loop(None)
    gc.collect()


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def run(gate: Gate) -> Run:
    return gate.run(agent="triage", tier="api", wait=20)


def scripted(model: Model) -> OpenAIChatModel:
    return OpenAIChatModel("gpt-5", provider=OpenAIProvider(base_url=f"{model.url}/v1", api_key=key))


def agent_of(model: Model, *toolsets: FunctionToolset[Any], governed: AbstractCapability[Any]) -> Agent[None, str]:
    return Agent(scripted(model), name="triage", toolsets=toolsets, capabilities=[governed])


def told(read: str) -> str:
    """Returns the text of a failed result. Newer versions give it to a model as the error of an object."""
    return str(json.loads(read)["error"]) if read.startswith('{"error":') else read


def behind(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def test_deny(model: Model, desk: Desk, run: Run, world: World) -> None:
    model.answers(calls("github_delete_repo", repo="web"), "I could not.")
    assert agent_of(model, desk.tools, governed=govern(run)).run_sync("Delete it.").output == "I could not."
    assert desk.done == []
    [entry] = world.entries(run.session, 1)
    assert (entry["tool"], entry["decision"]) == ("github_delete_repo", "deny")


def test_reason(model: Model, desk: Desk, run: Run) -> None:
    model.answers(calls("github_delete_repo", repo="web"))
    result = agent_of(model, desk.tools, governed=govern(run)).run_sync("Delete it.")
    [read] = map(told, model.read())
    assert read.startswith('The call of "github_delete_repo" was not made: policy_denied: ')
    assert read.endswith("continue without it or tell the user.")
    [part] = [part for message in result.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
    assert part.outcome == "failed"


def test_redact_in(model: Model, desk: Desk, run: Run) -> None:
    model.answers(calls("mail_send", to="bob@corp.io"))
    agent_of(model, desk.tools, governed=govern(run)).run_sync("Write to him.")
    assert desk.done == ["[redacted:email#1]"]
    assert model.read() == ["sent"]


def test_redact_out(model: Model, desk: Desk, run: Run) -> None:
    model.answers(calls("mail_read", box="in"))
    agent_of(model, desk.tools, governed=govern(run)).run_sync("Read it.")
    assert desk.done == ["in"]
    assert [json.loads(text) for text in model.read()] == [{"from": "[redacted:email#1]", "text": "hello"}]
    assert "bob@corp.io" not in json.dumps(model.received())


@pytest.mark.parametrize("raised", [ModelRetry, ToolFailed, RuntimeError])
def test_redact_out_of_exceptions(raised: type[Exception], model: Model, desk: Desk, run: Run) -> None:
    async def mail_check(box: str) -> str:
        desk.done.append(box)
        raise raised("no answer from bob@corp.io")

    model.answers(calls("mail_check", box="in"), "Too bad.")
    desk.tools.add_function(mail_check)
    agent = agent_of(model, desk.tools, governed=govern(run))
    if raised is RuntimeError:
        with pytest.raises(Exception, match=r"^no answer from \[redacted:email#1\]$") as caught:
            agent.run_sync("Check it.")
        assert "bob@corp.io" not in "".join(map(repr, behind(caught.value)))
    else:
        agent.run_sync("Check it.")
        assert "no answer from [redacted:email#1]" in model.read()[0]
        assert "bob@corp.io" not in json.dumps(model.received())
    assert desk.done == ["in"]


class Numbered(BaseModel):
    number: int


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_redact_out_of_the_input_of_a_validation(is_wrapped: bool, model: Model, desk: Desk, run: Run) -> None:
    inner: FunctionToolset[Any] = FunctionToolset()

    def mail_parse(box: str) -> int:
        desk.done.append(box)
        # The text of the error shows the ends of a long input only.
        text = "word " * 60 + "bob@corp.io" + " word" * 60
        if is_wrapped:
            raise ModelRetry(f"not a number: {text}")
        return Numbered.model_validate({"number": text}).number

    model.answers(calls("mail_parse", box="in"), "Too bad.")
    inner.add_function(mail_parse, takes_ctx=False)
    assert agent_of(model, inner, governed=govern(run)).run_sync("Parse it.").output == "Too bad."
    assert desk.done == ["in"]
    assert "[redacted:email#1]" in model.read()[0]
    assert "bob@corp.io" not in json.dumps(model.received())


class Letter(BaseModel):
    owner: str = Field(default="bob", serialization_alias="ownerName")
    sent: datetime = datetime(2026, 1, 2, tzinfo=timezone.utc)
    secret: str = Field(default="ann@corp.io", exclude=True)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def address(self) -> str:
        return f"{self.owner}@corp.io"


@dataclass
class Drawer:
    letters: list[Letter]

    def __str__(self) -> str:
        return "a drawer"


@pytest.mark.parametrize(
    "made", [Letter, lambda: [Letter()], lambda: {"letters": [Letter()]}, lambda: Drawer([Letter()])]
)
def test_what_is_reported_is_what_the_model_reads(
    made: Callable[[], Any], model: Model, desk: Desk, run: Run, world: World
) -> None:
    def mail_take(box: str) -> Any:
        return made()

    model.answers(calls("mail_take", box="in"))
    desk.tools.add_function(mail_take)
    agent_of(model, desk.tools, governed=govern(run)).run_sync("Take it.")
    read = {"address": "[redacted:email#1]", "ownerName": "bob", "sent": "2026-01-02T00:00:00Z"}
    assert json.dumps(read, separators=(",", ":")) in model.read()[0]
    assert "corp.io" not in json.dumps(model.received())


def test_a_file_of_text_is_redacted(model: Model, desk: Desk, run: Run) -> None:
    def mail_export(box: str) -> list[Any]:
        return [BinaryContent(b"from bob@corp.io", media_type="text/plain"), {"to": "ann@corp.io"}]

    model.answers(calls("mail_export", box="in"))
    desk.tools.add_function(mail_export)
    agent_of(model, desk.tools, governed=govern(run)).run_sync("Export it.")
    assert "from [redacted:email#1]" in json.dumps(model.received())
    assert "corp.io" not in json.dumps(model.received())


def test_addresses_and_durations_reach_the_tool_as_they_were_decided(
    model: Model, desk: Desk, run: Run, world: World
) -> None:
    def github_watch(url: HttpUrl, every: timedelta) -> str:
        desk.done.append((url, every))
        return "watched"

    model.answers(calls("github_watch", url="https://corp.io/a?b=c", every="PT90M"))
    desk.tools.add_function(github_watch)
    agent_of(model, desk.tools, governed=govern(run)).run_sync("Watch it.")
    assert desk.done == [(HttpUrl("https://corp.io/a?b=c"), timedelta(minutes=90))]
    shown = world.entries(run.session, 1)[0]["input"]
    assert shown == {"url": "https://corp.io/a?b=c", "every": "P0DT5400S"}


def test_an_error_of_the_client_is_a_denial(
    model: Model, desk: Desk, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RecursionError("secret")

    monkeypatch.setattr(run, "adecide", broken)
    model.answers(calls("github_create_issue", title="It broke"), "Too bad.")
    assert agent_of(model, desk.tools, governed=govern(run)).run_sync("File it.").output == "Too bad."
    assert desk.done == []
    read = told(model.read()[0])
    assert read.startswith('The call of "github_create_issue" was not made: internal_error: ')
    assert "secret" not in read


def test_redact_out_next_to_the_result(model: Model, desk: Desk, run: Run) -> None:
    noted = object()

    def mail_attach(box: str) -> ToolReturn[str]:
        desk.done.append(box)
        return ToolReturn(
            "from bob@corp.io", content=["by bob@corp.io", BinaryContent(png, media_type="image/png")], metadata=noted
        )

    model.answers(calls("mail_attach", box="in"))
    desk.tools.add_function(mail_attach)
    result = agent_of(model, desk.tools, governed=govern(run)).run_sync("Read it.")
    assert model.read() == ["from [redacted:email#1]"]
    assert "by [redacted:email#1]" in json.dumps(model.received()[-1])
    assert "bob@corp.io" not in json.dumps(model.received())
    assert "iVBORw0KGgoA/w==" in json.dumps(model.received())
    [part] = [part for message in result.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
    assert part.metadata is noted


def test_image(model: Model, desk: Desk, run: Run) -> None:
    def screenshot(page: str) -> BinaryContent:
        desk.done.append(page)
        return BinaryContent(png, media_type="image/png")

    model.answers(calls("screenshot", page="home"))
    desk.tools.add_function(screenshot)
    agent_of(model, desk.tools, governed=govern(run)).run_sync("Look.")
    assert "iVBORw0KGgoA/w==" in json.dumps(model.received()[-1])


def test_an_output_without_form_is_withheld(model: Model, desk: Desk, run: Run) -> None:
    def probe(page: str) -> Any:
        desk.done.append(page)
        return object()

    model.answers(calls("probe", page="home"))
    desk.tools.add_function(probe)
    agent_of(model, desk.tools, governed=govern(run)).run_sync("Look.")
    assert desk.done == ["home"]
    assert told(model.read()[0]).startswith('The call of "probe" was made, and its output was withheld: ')


@pytest.mark.parametrize(("how", "done"), [("approve", [500]), ("deny", [])])
def test_approval(how: str, done: list[int], model: Model, desk: Desk, run: Run, world: World) -> None:
    async def both() -> None:
        agent = agent_of(model, desk.tools, governed=govern(run))
        working = asyncio.create_task(agent.run("Pay."))
        world.answer(await asyncio.to_thread(world.pending, run.session), how, "as agreed")
        await working

    model.answers(calls("payments_transfer", amount=500))
    asyncio.run(both())
    assert desk.done == done
    assert model.read()[0] == "paid: 500" if done else "approval_denied" in model.read()[0]


def test_chain(model: Model, desk: Desk, run: Run, world: World) -> None:
    writer = Agent(scripted(model), name="writer", toolsets=[desk.tools], capabilities=[govern()])
    triage = Agent(scripted(model), name="triage", capabilities=[govern()])

    @triage.tool_plain
    async def ask_writer(task: str) -> str:
        return (await writer.run(task)).output

    model.answers(
        calls("ask_writer", task="Write it."), calls("github_create_issue", title="It broke"), "Written.", "All done."
    )
    with run:
        assert triage.run_sync("Have it written.").output == "All done."
        assert current_run() is run
        entries = [entry for entry in world.entries(run.session, 4) if entry["hookEvent"] == "PreToolUse"]
    assert desk.done == ["It broke"]
    assert [(entry["tool"], entry.get("chain")) for entry in entries] == [
        ("ask_writer", None),
        ("github_create_issue", ["triage", "writer"]),
    ]


def test_streaming(model: Model, desk: Desk, run: Run) -> None:
    async def streamed() -> str:
        agent = agent_of(model, desk.tools, governed=govern(run))
        async with agent.run_stream("Do it.") as stream:
            return [text async for text in stream.stream_text()][-1]

    model.answers(
        [*calls("github_create_issue", title="It broke"), *calls("github_delete_repo", repo="web")], "One was denied."
    )
    assert asyncio.run(streamed()) == "One was denied."
    assert desk.done == ["It broke"]
    created, denied = map(told, model.read())
    assert created == "created: It broke"
    assert denied.startswith('The call of "github_delete_repo" was not made: policy_denied: ')


def test_parallel(model: Model, desk: Desk, run: Run, world: World) -> None:
    async def mail_together(to: str) -> str:
        desk.done.append(to)
        if len(desk.done) == 3:
            met.set()
        # No call ends before all three are in the tool.
        await met.wait()
        return f"sent to {to}"

    async def worked() -> None:
        await agent_of(model, desk.tools, governed=govern(run)).run("Write to all.")

    met = asyncio.Event()
    people = ["ann@corp.io", "bob@corp.io", "cid@corp.io"]
    requested = [call for to in people for call in calls("mail_together", to=to)]
    model.answers([*requested, *calls("github_delete_repo", repo="web")])
    desk.tools.add_function(mail_together)
    asyncio.run(worked())
    assert len(desk.done) == 3
    assert all(re.fullmatch(r"\[redacted:email#\d\]", to) for to in desk.done)
    assert [text.partition(" to ")[0] for text in model.read()[:3]] == ["sent"] * 3
    assert len([entry for entry in world.entries(run.session, 7) if entry["hookEvent"] == "PreToolUse"]) == 4


def test_cancelled(model: Model, desk: Desk, run: Run, world: World) -> None:
    async def cancelled() -> None:
        agent = agent_of(model, desk.tools, governed=govern(run))
        working = asyncio.create_task(agent.run("Pay."))
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
            raise ModelRetry("Use another word.")
        return "found"

    model.answers(calls("search", text="a"), calls("search", text="b"))
    desk.tools.add_function(search)
    agent_of(model, desk.tools, governed=govern(run)).run_sync("Search.")
    assert desk.done == ["a", "b"]
    assert "Use another word." in model.read()[0]
    decided = [entry for entry in world.entries(run.session, 4) if entry["hookEvent"] == "PreToolUse"]
    assert len({entry["requestId"] for entry in decided}) == 2


def test_a_denial_uses_up_no_retries(model: Model, desk: Desk, run: Run) -> None:
    denied = [calls("github_delete_repo", repo=f"web{at}") for at in range(5)]
    model.answers(*denied, "I give up.")
    assert agent_of(model, desk.tools, governed=govern(run)).run_sync("Delete them.").output == "I give up."
    assert desk.done == []
    assert len(model.read()) == 5


def test_tracing(model: Model, desk: Desk, run: Run, world: World) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    instrumented = Instrumentation(settings=InstrumentationSettings(tracer_provider=provider))
    agent: Agent[None, str] = Agent(
        scripted(model), name="triage", toolsets=[desk.tools], capabilities=[govern(run), instrumented]
    )
    model.answers([*calls("mail_read", box="in"), *calls("github_delete_repo", repo="web")])
    agent.run_sync("Read and delete.")
    tools = {
        str((span.attributes or {})["gen_ai.tool.name"]): span
        for span in spans.get_finished_spans()
        if "gen_ai.tool.name" in (span.attributes or {})
    }
    assert tools.keys() == {"mail_read", "github_delete_repo"}
    shown = json.dumps([dict(span.attributes or {}) for span in spans.get_finished_spans()])
    assert "[redacted:email#1]" in shown
    assert "bob@corp.io" not in shown
    entries = world.entries(run.session, 3)
    by_tool = {entry["tool"]: entry["traceId"] for entry in entries}
    for name, span in tools.items():
        assert span.context is not None
        assert by_tool[name] == f"{span.context.trace_id:032x}"


def test_raises_if_asked(model: Model, desk: Desk, run: Run) -> None:
    model.answers(calls("github_delete_repo", repo="web"))
    with pytest.raises(ToolDenied) as caught:
        agent_of(model, desk.tools, governed=govern(run, on_denied="raise")).run_sync("Delete it.")
    assert caught.value.code == "policy_denied"
    assert desk.done == []
    assert len(model.received()) == 1


def test_on_denied_is_one_of_two_words() -> None:
    with pytest.raises(ValueError, match='on_denied must be "tell" or "raise"'):
        govern(on_denied="ignore")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_without_a_run_nothing_runs(model: Model, desk: Desk) -> None:
    model.answers(calls("github_create_issue", title="It broke"))
    agent_of(model, desk.tools, governed=govern()).run_sync("File it.")
    assert desk.done == []
    assert "run_missing" in model.read()[0]


def test_a_run_that_is_over_permits_nothing(model: Model, desk: Desk, run: Run) -> None:
    with run:
        pass
    model.answers(calls("github_create_issue", title="It broke"))
    agent_of(model, desk.tools, governed=govern(run)).run_sync("File it.")
    assert desk.done == []
    assert "run_ended" in model.read()[0]


def test_two_capabilities_decide_a_call_once(model: Model, desk: Desk, run: Run, world: World) -> None:
    model.answers(calls("github_create_issue", title="It broke"))
    try:
        agent_of(model, desk.tools, governed=govern()).run_sync("File it.", capabilities=[govern(run)])
    except UserError:
        # Older versions refuse the second one.
        assert desk.done == []
        return
    assert desk.done == ["It broke"]
    assert len(world.entries(run.session, 2)) == 2


def test_other_capabilities_change_a_call_before_it_is_decided(model: Model, desk: Desk, run: Run) -> None:
    @dataclass
    class Renamed(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: RunContext[Any], **call: Any) -> dict[str, Any]:
            return {"to": "eve@corp.io"}

    agent: Agent[None, str] = Agent(scripted(model), toolsets=[desk.tools], capabilities=[govern(run), Renamed()])
    model.answers(calls("mail_send", to="absent"))
    agent.run_sync("Write.")
    assert desk.done == ["[redacted:email#1]"]


def test_a_tool_that_needs_approval_is_decided_when_it_is_approved(model: Model, desk: Desk, run: Run) -> None:
    def github_delete_branch(ctx: RunContext[Any], name: str) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        desk.done.append(name)
        return "deleted"

    def archive(ctx: RunContext[Any], name: str) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        desk.done.append(name)
        return "archived"

    desk.tools.add_function(github_delete_branch, requires_approval=True)
    desk.tools.add_function(archive)
    agent: Agent[None, str | DeferredToolRequests] = Agent(
        scripted(model),
        toolsets=[desk.tools],
        capabilities=[govern(run)],
        output_type=[str, DeferredToolRequests],
    )
    model.answers([*calls("github_delete_branch", name="old"), *calls("archive", name="web")])
    asked = agent.run_sync("Clean up.")
    assert isinstance(asked.output, DeferredToolRequests)
    approved = DeferredToolResults(approvals={call.tool_call_id: True for call in asked.output.approvals})
    assert len(approved.approvals) == 2
    agent.run_sync(message_history=asked.all_messages(), deferred_tool_results=approved)
    assert desk.done == ["web"]
    denied, archived = map(told, model.read())
    assert denied.startswith('The call of "github_delete_branch" was not made: ')
    assert archived == "archived"


class Message(BaseModel):
    to: str


@pytest.mark.parametrize("streams", [False, True])
def test_output_functions_are_calls(streams: bool, model: Model, desk: Desk, run: Run) -> None:
    def mail_finish(message: Message) -> str:
        desk.done.append(message)
        return f"sent to {message.to}, from ann@corp.io"

    async def worked() -> str:
        agent: Agent[None, str] = Agent(scripted(model), output_type=mail_finish, capabilities=[govern(run)])
        if not streams:
            return (await agent.run("Write.")).output
        async with agent.run_stream("Write.") as stream:
            return await stream.get_output()

    model.answers(calls("final_result", to="bob@corp.io"))
    output = asyncio.run(worked())
    assert set(map(repr, desk.done)) == {"Message(to='[redacted:email#1]')"}
    assert output == "sent to [redacted:email#1], from [redacted:email#2]"


def test_a_denied_output_function_does_not_run(model: Model, desk: Desk, run: Run) -> None:
    def github_delete_all(repo: str) -> str:
        desk.done.append(repo)
        return "deleted"

    agent: Agent[None, str] = Agent(scripted(model), output_type=[github_delete_all, str], capabilities=[govern(run)])
    model.answers(
        calls("final_result_github_delete_all", repo="web"), calls("final_result", repo="web"), "I could not."
    )
    assert agent.run_sync("Delete it.").output == "I could not."
    assert desk.done == []
    assert "policy_denied" in json.dumps(model.received())


def test_example(model: Model, example: Callable[[str], list[str]]) -> None:
    model.answers(
        [*calls("github_create_issue", title="It broke"), *calls("github_delete_repo", repo="web")],
        "I filed it. The repository must stay.",
    )
    assert example("pydantic_ai") == ["created: It broke", "I filed it. The repository must stay."]
    assert "policy_denied" in model.read()[1]
