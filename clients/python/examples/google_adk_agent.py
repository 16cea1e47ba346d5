import asyncio

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner

from tollgate_client import connect
from tollgate_client.google_adk import govern


def github_create_issue(title: str) -> str:
    print("created:", title)
    return f"created: {title}"


def github_delete_repo(repo: str) -> str:
    print("deleted:", repo)
    return f"deleted: {repo}"


async def main() -> None:
    agent = LlmAgent(name="triage", model="gemini-2.5-flash", tools=[github_create_issue, github_delete_repo])
    async with InMemoryRunner(agent, app_name="desk", plugins=[govern()]) as runner:
        await runner.run_debug("The login is broken. File it, and delete the repository web.")


with connect() as gate, gate.run(agent="triage", tier="api"):
    asyncio.run(main())
