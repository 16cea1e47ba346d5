"""smolagents with guarded functions as its tools, against a real sidecar and a scripted model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from smolagents import OpenAIModel, ToolCallingAgent, tool

from tollgate_client import Run

from .guarded_tools import address, guarded_tools, mark
from .model import Model, calls, key

end = calls("final_answer", answer="Done.")


@pytest.fixture
def called() -> list[str]:
    """What the tools of the test were called with."""
    return []


@pytest.fixture
def asks(model: Model, run: Run, called: list[str]) -> Callable[[], str]:
    """Runs an agent to its end, and returns what its model read."""

    def ask() -> str:
        tools = guarded_tools(run, called)
        llm = OpenAIModel("gpt-4o-mini", api_base=f"{model.url}/v1", api_key=key)
        agent = ToolCallingAgent(tools=[tool(one) for one in tools], model=llm, verbosity_level=0)
        agent.run("Work.")
        # It shows its model the outcomes of calls as messages of the user, several in one.
        shown = [one["content"] for one in model.received()[-1]["messages"] if one["role"] == "user"]
        return "\n".join(part["text"] for content in shown for part in content)

    return ask


def test_deny(model: Model, asks: Callable[[], str], called: list[str]) -> None:
    model.answers(calls("delete_repo", repo="web"), calls("read_mail", box="in"), end)
    asks()
    assert called == ["in"]


def test_reason(model: Model, asks: Callable[[], str]) -> None:
    model.answers(calls("delete_repo", repo="web"), end)
    read = asks()
    assert 'The call of "github.delete_repo" was not made: policy_denied: ' in read


def test_redact_out(model: Model, asks: Callable[[], str], called: list[str]) -> None:
    model.answers(calls("read_mail", box="in"), calls("read_mail", box="none"), end)
    read = asks()
    assert called == ["in", "none"]
    assert f"from {mark}" in read
    assert f"no box of {mark}" in read
    assert address not in str(model.received())


def test_example(model: Model, example: Callable[[str], list[str]]) -> None:
    model.answers(calls("create_issue", title="It broke"), calls("delete_repo", repo="web"), end)
    printed = "\n".join(example("smolagents"))
    assert "created: It broke" in printed
    assert "policy_denied: the workspace denies api calls of" in printed
