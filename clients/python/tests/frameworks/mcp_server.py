"""A server for the tests of `mcp`: it notes each of its calls in the file that its first argument names."""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import types
from pydantic import BaseModel, Field, computed_field

try:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError:  # mcp 1
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp.exceptions import ToolError

from tollgate_client import connect
from tollgate_client.mcp import guard

server = MCPServer("desk")
notes = Path(sys.argv[1])


def note(what: object) -> None:
    with notes.open("a") as file:
        file.write(f"{json.dumps(what)}\n")


@server.tool()
def github_create_issue(title: str) -> str:
    note(title)
    return f"created: {title}"


@server.tool()
def github_delete_repo(repo: str) -> str:
    note(repo)
    return f"deleted: {repo}"


@server.tool()
def mail_send(to: str) -> str:
    note(to)
    return "sent"


@server.tool()
def mail_read(box: str) -> dict[str, Any]:
    note(box)
    return {"from": "bob@corp.io", "text": "hello"}


@server.tool()
def mail_fail(box: str) -> str:
    note(box)
    raise ToolError("no answer from bob@corp.io")


@server.tool(structured_output=False)
def mail_attachments(box: str) -> list[Any]:
    note(box)
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\xff").decode()
    page = {"uri": "desk://page", "mimeType": "text/plain", "text": "by bob@corp.io"}
    return [
        types.ImageContent.model_validate({"type": "image", "data": png, "mimeType": "image/png"}),
        types.EmbeddedResource.model_validate({"type": "resource", "resource": page}),
    ]


@server.tool()
def payments_transfer(amount: int) -> str:
    note(amount)
    return f"paid: {amount}"


@server.tool()
async def slow(steps: int, ctx: Context) -> str:
    for step in range(steps):
        await ctx.report_progress(step + 1, steps)
    note("waits")
    try:
        await anyio.sleep_forever()
    except BaseException:
        note("cancelled")
        raise
    return "never"


@server.tool()
@guard("github.delete_repo")
def own_delete(repo: str) -> str:
    note(repo)
    return f"deleted: {repo}"


@server.tool()
@guard("mail.send", exclude=("ctx",))
async def own_send(to: str, ctx: Context) -> str:
    note(to)
    return f"sent to {to}, from ann@corp.io"


@server.tool()
@guard("mail.check")
def own_check(box: str) -> str:
    note(box)
    raise ToolError(f"no {box} of ann@corp.io")


class Letter(BaseModel):
    owner: str = "ann"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def address(self) -> str:
        return f"{self.owner}@corp.io"


@server.tool()
@guard("mail.read")
def own_read(box: str) -> Letter:
    note(box)
    return Letter()


class Sender(BaseModel):
    sender: str = Field(alias="from")


@server.tool()
@guard("mail.read")
def own_sender(box: str) -> list[Sender]:
    note(box)
    return [Sender.model_validate({"from": "ann@corp.io"})]


@server.tool(structured_output=False)
@guard("mail.read")
def own_list(box: str) -> list[Any]:
    note(box)
    text = types.TextContent.model_validate({"type": "text", "text": "by ann@corp.io"})
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\xff").decode()
    return [Letter(), text, types.ImageContent.model_validate({"type": "image", "data": png, "mimeType": "image/png"})]


with connect() as gate, gate.run(agent="desk", tier="api"):
    server.run()
