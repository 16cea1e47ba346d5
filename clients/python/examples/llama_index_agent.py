"""An agent of LlamaIndex, one call of which is allowed and one denied. Environment: OPENAI_API_KEY, OPENAI_BASE_URL."""

import asyncio
import os

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike

from tollgate_client import connect


def create_issue(title: str) -> str:
    """Creates an issue."""
    return f"created: {title}"


def delete_repo(repo: str) -> str:
    """Deletes a repository."""
    return f"deleted: {repo}"


llm = OpenAILike(
    model="gpt-4o-mini",
    api_base=os.environ["OPENAI_BASE_URL"],
    api_key=os.environ["OPENAI_API_KEY"],
    is_chat_model=True,
    is_function_calling_model=True,
)


async def main() -> None:
    with connect() as gate, gate.run(agent="triage", tier="api") as run:
        tools = [run.guard("github.create_issue")(create_issue), run.guard("github.delete_repo")(delete_repo)]
        answer = await FunctionAgent(tools=tools, llm=llm).run("File that it broke, and delete the repository web.")
    for call in answer.tool_calls:
        print(call.tool_output.content)


asyncio.run(main())
