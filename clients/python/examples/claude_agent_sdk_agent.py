"""An agent of the Claude Agent SDK, one call of which is allowed and one denied. Environment: ANTHROPIC_API_KEY."""

import asyncio
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ToolResultBlock, UserMessage, create_sdk_mcp_server, query, tool

from tollgate_client import connect
from tollgate_client.claude_agent_sdk import hooks


@tool("create_issue", "Creates an issue.", {"title": str})
async def create_issue(args: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"created: {args['title']}"}]}


@tool("delete_repo", "Deletes a repository.", {"repo": str})
async def delete_repo(args: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"deleted: {args['repo']}"}]}


async def main() -> None:
    github = create_sdk_mcp_server("github", tools=[create_issue, delete_repo])
    with connect() as gate, gate.run(agent="triage", tier="api") as run:
        options = ClaudeAgentOptions(
            model="claude-sonnet-4-5",
            mcp_servers={"github": github},
            allowed_tools=["mcp__github"],
            hooks=hooks(run),
        )
        async for message in query(prompt="File that it broke, and delete the repository web.", options=options):
            if isinstance(message, UserMessage):
                print(*(block.content for block in message.content if isinstance(block, ToolResultBlock)))


asyncio.run(main())
