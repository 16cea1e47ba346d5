"""
Runs the blocks of the package's README and of its page in docs, each as a program of its own. TOLLGATE_TEST_PYTHON: a
Python in which the package is installed; absent: this one, with the sources.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .programs import World, checkout

pages = ("clients/python/README.md", "docs/doors/python.md")
blocks = [
    pytest.param(block, id=f"{page} {at}")
    for page in pages
    for at, block in enumerate(re.findall(r"^```python\n(.*?)^```", (checkout / page).read_text(), re.S | re.M))
]


def test_the_license_of_the_package_is_that_of_the_checkout() -> None:
    # A link would lead out of the archive.
    assert (checkout / "clients/python/LICENSE").read_bytes() == (checkout / "LICENSE").read_bytes()


def test_both_pages_have_blocks() -> None:
    assert len(blocks) >= 6


@pytest.mark.parametrize("block", blocks)
def test_a_block_prints_what_it_says(block: str, world: World, tmp_path: Path) -> None:
    program = tmp_path / "block.py"
    program.write_text(block)
    env = {
        **os.environ,
        "TOLLGATE_SIDECAR": world.sidecar,
        "TOLLGATE_KEY": world.key,
    }
    installed = os.environ.get("TOLLGATE_TEST_PYTHON")
    if installed is None:
        env["PYTHONPATH"] = str(checkout / "clients/python/src")
    ended = subprocess.run(
        [installed or sys.executable, program], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    wanted = re.findall(r"print\(.*\)  # (.*)$", block, re.M)
    assert wanted != []
    assert ended.stdout.splitlines() == wanted
