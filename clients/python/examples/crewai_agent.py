"""A crew, one call of which is allowed and one denied. Environment: OPENAI_API_KEY, OPENAI_BASE_URL."""

from crewai import Agent, Crew, Task
from crewai.hooks import ToolCallHookContext, register_after_tool_call_hook
from crewai.tools import tool

from tollgate_client import connect
from tollgate_client.crewai import govern


@tool("github.create_issue")
def create_issue(title: str) -> str:
    """Creates an issue."""
    return f"created: {title}"


@tool("github.delete_repo")
def delete_repo(repo: str) -> str:
    """Deletes a repository."""
    return f"deleted: {repo}"


def show(context: ToolCallHookContext) -> None:
    print(context.tool_result)


tools = [create_issue, delete_repo]
triage = Agent(role="triage", goal="Help.", backstory="You help.", llm="openai/gpt-4o-mini", tools=tools)
task = Task(description="File that it broke, and delete the repository web.", expected_output="A word.", agent=triage)
crew = Crew(agents=[triage], tasks=[task])

with connect() as gate, gate.run(agent="triage", tier="api") as run, govern(run):
    register_after_tool_call_hook(show)
    crew.kickoff()
