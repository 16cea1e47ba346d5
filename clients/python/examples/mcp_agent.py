import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent

from tollgate_client import connect
from tollgate_client.mcp import govern

server = StdioServerParameters(
    command=sys.executable, args=[os.environ["DESK_SERVER"], os.environ["DESK_NOTES"]], env=dict(os.environ)
)


async def main() -> None:
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        govern(session)
        for tool, given in ("github_create_issue", {"title": "It broke"}), ("github_delete_repo", {"repo": "web"}):
            result = await session.call_tool(tool, given)
            print(*[part.text for part in result.content if isinstance(part, TextContent)])


with connect() as gate, gate.run(agent="triage", tier="api"):
    asyncio.run(main())
