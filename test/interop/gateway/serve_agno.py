"""An AgentOS of agno on a scripted model server. Arguments: port, URL of the model server, database file or '-'."""

import sys
from dataclasses import dataclass
from typing import Any, Iterator

import uvicorn
from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.openai.like import OpenAILike
from agno.os import AgentOS
from agno.run.agent import CustomEvent
from agno.team import Team
from agno.workflow import Step, Workflow


@dataclass
class OddEvent(CustomEvent):
    value: Any = None


def odd() -> Iterator[Any]:
    """Emits an event that has no form in JSON."""
    yield OddEvent(value={("a", "tuple"): "as a key"})
    yield "done"


port, model_url, file = int(sys.argv[1]), sys.argv[2], sys.argv[3]
model = OpenAILike(id="scripted", base_url=model_url, api_key="none", max_retries=0, retries=0)
db = None if file == "-" else SqliteDb(db_file=file)
writer = Agent(id="writer", name="Writer", model=model, db=db, tools=[odd], telemetry=False)
team = Team(id="desk", name="Desk", model=model, db=db, members=[writer], telemetry=False)
flow = Workflow(id="flow", name="Flow", db=db, steps=[Step(name="write", agent=writer)], telemetry=False)
system = AgentOS(id="interop", agents=[writer], teams=[team], workflows=[flow], telemetry=False)
uvicorn.run(system.get_app(), host="127.0.0.1", port=port, log_level="error")
