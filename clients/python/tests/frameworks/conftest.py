"""
What the tests of all adapters share. A framework finds a home of its own, sends nothing to its makers, and no proxy.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tollgate_client import Gate, Run

from ..programs import World, attempts, checkout
from .model import Model, key, scripted_model

T = TypeVar("T")

# Before any framework is imported.
home = tempfile.mkdtemp(prefix="tollgate-home-")
atexit.register(shutil.rmtree, home, ignore_errors=True)
for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[name]
os.environ.update(
    HOME=home,
    ANTHROPIC_API_KEY=key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_TRACING_ENABLED="false",
    DISABLE_AUTOUPDATER="1",
    ENABLE_TOOL_SEARCH="false",
    GOOGLE_API_KEY=key,
    LANGSMITH_TRACING="false",
    OPENAI_API_KEY=key,
)


# Frameworks keep connections for later calls, which need the event loop that they were made in.
loop = asyncio.new_event_loop()
atexit.register(loop.close)


def wait_for(awaited: Coroutine[Any, Any, T]) -> T:
    return loop.run_until_complete(awaited)


def pytest_configure(config: pytest.Config) -> None:
    # Frameworks warn of what they do themselves, and leave connections open until the end.
    for line in ("default", "ignore::ResourceWarning"):
        config.addinivalue_line("filterwarnings", line)
    warnings.simplefilter("default")
    warnings.simplefilter("ignore", ResourceWarning)


def decided(world: World, session: str, count: int) -> list[dict[str, Any]]:
    """Returns the entries of the decisions of a session, oldest first, as soon as there are this many or more."""
    for _ in attempts():
        found = [one for one in world.entries(session, count) if one["hookEvent"] == "PreToolUse"]
        if len(found) >= count:
            return found
    raise AssertionError(f"{count} decisions were expected, there are {len(found)}")


def hops(entry: Mapping[str, Any]) -> list[str]:
    """Returns the names of the agents in the chain of an entry. A call of one agent alone has none."""
    return [hop if isinstance(hop, str) else str(hop["name"]) for hop in entry.get("chain", ())]


# The SDK of the server has another name in its second major version.
server = """
import sys
from pathlib import Path
try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server

server = Server("desk")

@server.tool()
def mail_send(to: str) -> str:
    Path(sys.argv[1]).open("a").write(to + "\\n")
    return f"queued for {to} by eve@corp.io"

@server.tool()
def github_delete_repo(name: str) -> str:
    Path(sys.argv[1]).open("a").write(name + "\\n")
    return "deleted"

server.run()
"""


def mcp_server(folder: Path) -> tuple[Path, Path]:
    """Returns a program that is an MCP server, and the file that its tools write to. It is the program's argument."""
    program, log = folder / "server.py", folder / "log"
    program.write_text(server)
    log.touch()
    return program, log


@pytest.fixture(scope="session")
def one_model() -> Generator[Model]:
    with scripted_model() as model:
        yield model


@pytest.fixture
def model(one_model: Model) -> Model:
    """A model that answers `Done.` until the test sets a script."""
    one_model.answers()
    return one_model


@pytest.fixture
def run(gate: Gate) -> Iterator[Run]:
    with gate.run(agent="triage", tier="api") as run:
        yield run


@pytest.fixture
def example(world: World, model: Model) -> Callable[[str], list[str]]:
    """Runs `examples/<framework>_agent.py` with the scripted model, and returns the lines that it prints."""

    def run(framework: str) -> list[str]:
        env = {
            **os.environ,
            "ANTHROPIC_BASE_URL": model.url,
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "OPENAI_BASE_URL": f"{model.url}/v1",
            "TOLLGATE_KEY": world.key,
            "TOLLGATE_SIDECAR": world.sidecar,
        }
        program = checkout / "clients/python/examples" / f"{framework}_agent.py"
        ended = subprocess.run(
            [sys.executable, program], env=env, capture_output=True, text=True, timeout=300, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.splitlines()

    return run
