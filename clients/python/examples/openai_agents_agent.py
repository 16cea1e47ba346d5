from agents import Agent, Runner, function_tool, set_tracing_disabled

from tollgate_client import connect
from tollgate_client.openai_agents import govern


@function_tool
def github_create_issue(title: str) -> str:
    """Creates an issue."""
    return f"created: {title}"


@function_tool
def github_delete_repo(name: str) -> str:
    """Deletes a repository."""
    return f"deleted: {name}"


set_tracing_disabled(True)
with connect() as gate, gate.run(agent="triage", tier="api"):
    agent = Agent("triage", tools=govern([github_create_issue, github_delete_repo]))
    result = Runner.run_sync(agent, "File an issue, then delete the repository.")
for item in result.new_items:
    if item.type == "tool_call_output_item":
        print(item.output)
