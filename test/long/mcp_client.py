"""Calls the tool `pay` through the MCP proxy with the official Python SDK, and prints what it hears as JSON lines."""

import asyncio
import json
import sys

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def told(progress, _total, message):
    print(json.dumps({"progress": progress, "message": message}), flush=True)


async def main(url, key, mode):
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http_client:
        async with Client(streamable_http_client(url, http_client=http_client), mode=mode) as client:
            result = await client.call_tool("pay", {"amount": 5}, progress_callback=told)
            print(json.dumps({"isError": bool(result.is_error), "text": result.content[0].text}), flush=True)


asyncio.run(main(*sys.argv[1:]))
