"""An AgentOS of agno with scripted models: no key, no network. It prints its address when it listens."""

import asyncio
import socket
import sys

import uvicorn
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.os import AgentOS
from agno.team import Team
from agno.tools import tool
from agno.workflow import Step, Workflow
from scripted import Scripted


async def story(messages):
    for number in range(20):
        yield f"word{number} "
        await asyncio.sleep(0.05)


async def endless(messages):
    while True:
        yield "on "
        await asyncio.sleep(0.05)


def calling(name, args):
    async def script(messages):
        if messages[-1].role == "tool":
            yield f"got {messages[-1].content}"
        else:
            yield {"id": f"call-{name}", "name": name, "args": args}

    return script


async def failing(messages):
    yield "half "
    raise RuntimeError("no model today")


async def echo(messages):
    yield f"echo {messages[-1].content}"


def delegating(member):
    async def script(messages):
        if messages[-1].role == "tool":
            yield f"the member said: {messages[-1].content}"
        else:
            args = {"member_id": member, "task": "say something"}
            yield {"id": "call-delegate", "name": "delegate_task_to_member", "args": args}

    return script


def look(city: str) -> str:
    """Looks at a city."""
    return f"rain in {city}"


def fall() -> str:
    """Falls."""
    raise ValueError("it fell")


@tool(requires_confirmation=True)
def send(amount: int) -> str:
    """Sends money."""
    return f"sent {amount}"


@tool(external_execution=True)
def locate() -> str:
    """Where the caller is."""


@tool(requires_user_input=True, user_input_fields=["name"])
def greet(name: str) -> str:
    """Greets somebody."""
    return f"hello {name}"


db = InMemoryDb()


def agent(name, script, tools=(), store=db):
    return Agent(id=name, name=name, model=Scripted(script), tools=list(tools), db=store, telemetry=False)


members = [agent("member", echo)]
system = AgentOS(
    id="test",
    agents=[
        agent("story", story),
        agent("endless", endless),
        agent("look", calling("look", {"city": "Bergen"}), [look]),
        agent("fall", calling("fall", {}), [fall]),
        agent("send", calling("send", {"amount": 25}), [send]),
        agent("locate", calling("locate", {}), [locate]),
        agent("greet", calling("greet", {}), [greet]),
        agent("failing", failing),
        agent("unkept", story, store=None),
    ],
    teams=[
        Team(id="team", name="team", model=Scripted(delegating("member")), members=members, db=db, telemetry=False),
    ],
    workflows=[
        Workflow(id="flow", name="flow", steps=[Step(name="first", agent=agent("stepper", echo))], db=db, telemetry=False),
    ],
    telemetry=False,
)

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
# Connections from here on wait until the server has started.
listener.listen(128)
print(f"listens at http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(system.get_app(), log_level="error")).run(sockets=[listener])
sys.exit(0)
