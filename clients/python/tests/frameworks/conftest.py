"""
What the tests of all adapters share. A framework finds a home of its own, sends nothing to its makers, and no proxy.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator

import pytest

from ..conftest import World, checkout
from .model import Model, key, scripted_model

# Before any framework is imported.
home = tempfile.mkdtemp(prefix="tollgate-home-")
atexit.register(shutil.rmtree, home, ignore_errors=True)
for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[name]
os.environ.update(
    HOME=home,
    ANTHROPIC_API_KEY=key,
    CREWAI_DISABLE_TELEMETRY="true",
    GOOGLE_API_KEY=key,
    LANGSMITH_TRACING="false",
    OPENAI_API_KEY=key,
)


def pytest_configure(config: pytest.Config) -> None:
    # Frameworks warn of what they do themselves.
    config.addinivalue_line("filterwarnings", "default")


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
            [sys.executable, program], env=env, capture_output=True, text=True, timeout=120, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.splitlines()

    return run
