"""LlamaIndex with guarded functions as its tools, against a real sidecar and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike

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
        llm = OpenAILike(
            model="gpt-4o-mini",
            api_base=f"{model.url}/v1",
            api_key=key,
            is_chat_model=True,
            is_function_calling_model=True,
        )

        async def work() -> None:
            await FunctionAgent(tools=tools, llm=llm).run("Work.")

        asyncio.run(work())
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
    created, denied = example("llama_index")
    assert created == "created: It broke"
    assert "policy_denied: the workspace denies api calls of" in denied
