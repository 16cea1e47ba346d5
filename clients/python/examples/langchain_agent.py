from langchain.agents import create_agent
from langchain.tools import tool

from tollgate_client import connect
from tollgate_client.langchain import TollgateMiddleware


@tool
def github_create_issue(title: str) -> str:
    """Creates an issue."""
    return f"created: {title}"


@tool
def github_delete_repo(name: str) -> str:
    """Deletes a repository."""
    return f"deleted: {name}"


tools = [github_create_issue, github_delete_repo]
agent = create_agent("openai:gpt-5", tools, middleware=[TollgateMiddleware()])
with connect() as gate, gate.run(agent="triage", tier="api"):
    result = agent.invoke({"messages": [("user", "File an issue, then delete the repository.")]})
for message in result["messages"]:
    if message.type == "tool":
        print(message.content)
