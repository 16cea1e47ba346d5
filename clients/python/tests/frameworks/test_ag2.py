"""AG2 with guarded functions as its tools, against a real sidecar and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from ag2 import Agent, tool
from ag2.config import OpenAIConfig

from tollgate_client import Run

from .guarded_tools import address, guarded_tools, mark
from .model import Model, calls, key


@pytest.fixture
def called() -> list[str]:
    """What the tools of the test were called with."""
    return []


@pytest.fixture
def asks(model: Model, run: Run, called: list[str]) -> Callable[[], list[str]]:
    """Runs an agent to its end, and returns what its model read of tools."""

    def ask() -> list[str]:
        tools = guarded_tools(run, called)
        config = OpenAIConfig(model="gpt-4o-mini", base_url=f"{model.url}/v1", api_key=key)
        agent = Agent("triage", prompt="You help.", config=config, tools=[tool(one) for one in tools])
        asyncio.run(agent.ask("Work."))
        return model.read()

    return ask


def test_deny(model: Model, asks: Callable[[], list[str]], called: list[str]) -> None:
    model.answers(calls("delete_repo", repo="web"), calls("read_mail", box="in"))
    asks()
    assert called == ["in"]


def test_reason(model: Model, asks: Callable[[], list[str]]) -> None:
    model.answers(calls("delete_repo", repo="web"))
    [read] = asks()
    assert 'The call of "github.delete_repo" was not made: policy_denied: ' in read


def test_redact_out(model: Model, asks: Callable[[], list[str]], called: list[str]) -> None:
    model.answers(calls("read_mail", box="in"), calls("read_mail", box="none"))
    passed, failed = asks()
    assert called == ["in", "none"]
    assert f"from {mark}" in passed
    assert f"no box of {mark}" in failed
    assert address not in str(model.received())


def test_example(model: Model, example: Callable[[str], list[str]]) -> None:
    model.answers(calls("create_issue", title="It broke"), calls("delete_repo", repo="web"))
    example("ag2")
    created, denied = model.read()
    assert created == "created: It broke"
    assert "policy_denied: the workspace denies api calls of" in denied
