"""The tools of the tests of `run.guard` in frameworks without an adapter."""

from __future__ import annotations

from typing import Any

from tollgate_client import Run

address = "bob@corp.io"
mark = "[redacted:email#1]"


def guarded_tools(run: Run, called: list[str]) -> list[Any]:
    """Returns `delete_repo`, which policy denies, and `read_mail`. What they are called with is added to `called`."""

    @run.guard("github.delete_repo")
    def delete_repo(repo: str) -> str:
        """Deletes a repository.

        Args:
            repo: Its name.
        """
        called.append(repo)
        return f"deleted: {repo}"

    @run.guard("mail.read")
    def read_mail(box: str) -> str:
        """Reads mail.

        Args:
            box: Where from.
        """
        called.append(box)
        if box == "none":
            raise ValueError(f"no box of {address}")
        return f"from {address}"

    return [delete_repo, read_mail]
