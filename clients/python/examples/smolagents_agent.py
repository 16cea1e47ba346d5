"""An agent of smolagents, one call of which is allowed and one denied. Environment: OPENAI_API_KEY, OPENAI_BASE_URL."""

import os

from smolagents import ActionStep, OpenAIModel, ToolCallingAgent, tool

from tollgate_client import connect


def create_issue(title: str) -> str:
    """Creates an issue.

    Args:
        title: What it says.
    """
    return f"created: {title}"


def delete_repo(repo: str) -> str:
    """Deletes a repository.

    Args:
        repo: Its name.
    """
    return f"deleted: {repo}"


model = OpenAIModel("gpt-4o-mini", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])

with connect() as gate, gate.run(agent="triage", tier="api") as run:
    create = tool(run.guard("github.create_issue")(create_issue))
    delete = tool(run.guard("github.delete_repo")(delete_repo))
    agent = ToolCallingAgent(tools=[create, delete], model=model, verbosity_level=0)
    agent.run("File that it broke, and delete the repository web.")

for step in agent.memory.steps:
    if isinstance(step, ActionStep):
        print(step.observations, step.error)
