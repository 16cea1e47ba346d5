"""A model of all providers on loopback, which answers by a script: `test/support/model-process.ts` of the checkout."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx

from ..programs import checkout, given

key = "no-key-is-needed"


def calls(tool: str, **given: object) -> list[dict[str, object]]:
    """Returns a turn in which the model requests one call; turns are added for parallel calls."""
    return [{"tool": tool, "input": given}]


class Model:
    """
    `url`: of the server. OpenAI's clients want `/v1` behind it, Anthropic's and Google's do not. Its keys are not
    checked.
    """

    def __init__(self, url: str, script: str) -> None:
        self.url = url
        self._script = httpx.Client(base_url=script, trust_env=False)

    def answers(self, *turns: str | list[dict[str, object]]) -> None:
        """Sets what the model answers, one turn for each request; afterwards `Done.`."""
        self._script.put("/", json=turns).raise_for_status()

    def received(self) -> list[dict[str, Any]]:
        """Returns the requests since the script was set, in the form of OpenAI's chat completions."""
        requests: list[dict[str, Any]] = self._script.get("/").raise_for_status().json()
        return requests

    def read(self) -> list[str]:
        """Returns the results of tools that the last request brought, oldest first."""
        return [_text(message) for message in self.received()[-1]["messages"] if message["role"] == "tool"]

    def close(self) -> None:
        self._script.close()


def _text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or ())


@contextmanager
def model_process() -> Generator[dict[str, str]]:
    """Starts the model, and yields its addresses by name: `model`, and `script`, which takes what it answers."""
    child = subprocess.Popen(
        ["node", "--import", "tsx", "test/support/model-process.ts"],
        cwd=checkout,
        env={"PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        yield dict(child.stdout.readline().split() for _ in range(2))
    finally:
        child.terminate()
        child.wait(30)
        if child.stdout is not None:
            child.stdout.close()


@contextmanager
def scripted_model() -> Generator[Model]:
    with ExitStack() as stack:
        addresses = given() or stack.enter_context(model_process())
        model = Model(addresses["model"], addresses["script"])
        stack.callback(model.close)
        yield model
