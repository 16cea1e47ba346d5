from pydantic_ai import Agent

from tollgate_client import connect
from tollgate_client.pydantic_ai import govern

agent = Agent("openai-chat:gpt-5", name="triage", capabilities=[govern()])


@agent.tool_plain
def github_create_issue(title: str) -> str:
    print("created:", title)
    return f"created: {title}"


@agent.tool_plain
def github_delete_repo(repo: str) -> str:
    print("deleted:", repo)
    return f"deleted: {repo}"


with connect() as gate, gate.run(agent="triage", tier="api"):
    print(agent.run_sync("The login is broken. File it, and delete the repository web.").output)
