"""An agent of AG2, one call of which is allowed and one denied. Environment: OPENAI_API_KEY, OPENAI_BASE_URL."""

import asyncio
import os

from ag2 import Agent, tool
from ag2.config import OpenAIConfig

from tollgate_client import connect


def create_issue(title: str) -> str:
    """Creates an issue."""
    return f"created: {title}"


def delete_repo(repo: str) -> str:
    """Deletes a repository."""
    return f"deleted: {repo}"


config = OpenAIConfig(model="gpt-4o-mini", base_url=os.environ.get("OPENAI_BASE_URL"))

with connect() as gate, gate.run(agent="triage", tier="api") as run:
    create = tool(run.guard("github.create_issue")(create_issue))
    delete = tool(run.guard("github.delete_repo")(delete_repo))
    agent = Agent("triage", prompt="You help.", config=config, tools=[create, delete])
    print(asyncio.run(agent.ask("File that it broke, and delete the repository web.")).body)
