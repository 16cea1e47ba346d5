"""
Checks the table of docs/doors/python-frameworks.md, and the examples: `table.py <folder> <framework>…`. The folder has
the report `<framework>.xml` of each framework's tests. Prints a line for each check that failed, and how many lines of
each example are Tollgate's. The last line is `table: N checks, N failed`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

client = Path(__file__).resolve().parents[1]
page = client.parents[1] / "docs/doors/python-frameworks.md"
# The columns that are tests, and the names of these.
tests = {
    "deny": "test_deny",
    "reason": "test_reason",
    "redact in": "test_redact_in",
    "redact out": "test_redact_out",
    "approval": "test_approval",
    "chain": "test_chain",
    "streaming": "test_streaming",
}
lines_max = 3


def rows(text: str) -> dict[str, dict[str, str]]:
    """Returns the cells by column, for each framework. Its name is the code in the first cell."""
    lines = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("|")]
    columns = [cell.strip() for cell in lines[0]]
    found: dict[str, dict[str, str]] = {}
    for cells in lines[2:]:
        named = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
        match = re.search(r"`(\w+)`", named["framework"])
        if match:
            found[match[1]] = named
    return found


def passed(report: Path) -> dict[str, bool]:
    """Returns whether each test passed, with all of its parameters."""
    found: dict[str, bool] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):  # noqa: S314
        name = case.get("name", "").partition("[")[0]
        is_passed = all(case.find(outcome) is None for outcome in ("failure", "error", "skipped"))
        found[name] = found.get(name, True) and is_passed
    return found


def pinned(framework: str, which: str) -> str:
    """Returns the pin that stands first in a file of pins: that of the framework itself."""
    first = (client / "frameworks" / f"{framework}-{which}.txt").read_text().split()[0]
    return first.partition("==")[2]


def ours(source: str) -> set[int]:
    """
    Returns the lines beyond imports that refer to a name imported from the client, or bound from it: by assignment of
    what one of these names, or a part of it, returns; by `with`; by a decorator.
    """
    program = ast.parse(source)
    names: set[str] = set()
    while True:
        found = set(_bound(program, names))
        if found <= names:
            break
        names |= found
    return {node.lineno for node in ast.walk(program) if isinstance(node, ast.Name) and node.id in names}


def _bound(program: ast.Module, names: set[str]) -> Iterator[str]:
    for node in ast.walk(program):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tollgate_client":
            yield from (one.asname or one.name for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.asname or "tollgate_client" for one in node.names if one.name.startswith("tollgate_client"))
        elif isinstance(node, ast.Assign) and _root(node.value) in names:
            yield from (_root(target) for target in node.targets)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and _root(node.value) in names:
            yield _root(node.target)
        elif isinstance(node, ast.withitem) and _root(node.context_expr) in names:
            yield _root(node.optional_vars)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from (node.name for one in node.decorator_list if _root(one) in names)


def _root(node: ast.expr | None) -> str:
    """Returns the name that an expression begins with: `gate` in `gate.run(…)`. Empty: none."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, (ast.Attribute, ast.Subscript, ast.Await, ast.Starred)):
            node = node.value
        else:
            return ""
    return node.id


def problems(framework: str, row: dict[str, str], report: Path, text: str) -> Iterator[tuple[str, bool]]:
    """Yields each check, and whether it holds."""
    outcomes = passed(report)
    for column, test in tests.items():
        if row[column].startswith("yes"):
            yield f"{column} says yes: {test} exists and passes", outcomes.get(test, False)
        else:
            yield (
                f"{column} says no and why, and there is no {test}",
                row[column][:4] == "no: " and test not in outcomes,
            )
    for which in ("oldest", "newest"):
        yield f"{which} is the pin {pinned(framework, which)}", row[which] == pinned(framework, which)
    extra = framework.replace("_", "-")
    wanted = re.search(
        rf'^"?{extra}"? = \["[^"]*>={re.escape(row["oldest"])},', (client / "pyproject.toml").read_text(), re.M
    )
    yield f"the extra {extra} begins with {row['oldest']}", wanted is not None
    source = (client / "examples" / f"{framework}_agent.py").read_text()
    lines = ours(source)
    print(f"        {framework}: {len(lines)} lines of its example are Tollgate's: {sorted(lines)}")
    yield f"at most {lines_max} lines of the example are Tollgate's", 0 < len(lines) <= lines_max
    blocks = re.findall(r"^```python\n(.*?)^```", section(text, framework), re.S | re.M)
    yield "the page shows a part of the example as it is", blocks != [] and all(one in source for one in blocks[:1])


def section(text: str, framework: str) -> str:
    """Returns the section that has the install line of the framework."""
    named = [
        one for one in re.split(r"^## ", text, flags=re.M) if f"tollgate-client[{framework.replace('_', '-')}]" in one
    ]
    return named[0] if named else ""


def main(folder: Path, frameworks: list[str]) -> int:
    text = page.read_text()
    table = rows(text)
    checks = failed = 0
    for framework in frameworks:
        for name, holds in problems(framework, table.get(framework, {}), folder / f"{framework}.xml", text):
            checks, failed = checks + 1, failed + (not holds)
            if not holds:
                print(f"FAILED  {framework}: {name}")
    print(f"table: {checks} checks, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
