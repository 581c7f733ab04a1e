"""An AgentOS of agno whose agent `lab` runs a script, as the lab of Holdfast does: `python -m compare.lab PORT DATABASE`."""

import asyncio
import os
import re
import sys
from dataclasses import dataclass
from typing import Any, Optional

import uvicorn
from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.os import AgentOS
from agno.run.agent import CustomEvent
from scripted import Scripted


@dataclass
class Emitted(CustomEvent):
    value: Optional[Any] = None


async def emit_circular():
    """Emits an event that contains itself."""
    value: dict = {}
    value["value"] = value
    yield Emitted(value=value)
    yield "emitted"


async def lab(messages):
    """Does what the script in the user's message says; a tool call ends a turn, and the script goes on in the next."""
    last = max(index for index, message in enumerate(messages) if message.role == "user")
    turn = sum(message.role == "tool" for message in messages[last:])
    async for part in perform(str(messages[last].content), turn):
        yield {"id": f"call-{turn}", "name": "emit_circular", "args": {}} if part == "circular" else part


async def perform(script, turn):
    """The part of the script that belongs to a turn. Numbers of texts go through, as those of Holdfast's lab do."""
    number = 0
    for statement in (part.strip() for part in script.split(";")):
        word, _, rest = statement.partition(" ")
        mine = turn == 0
        if word == "text":
            count, every = (int(found or 0) for found in re.fullmatch(r"(\d+)(?: every (\d+))?", rest).groups())
            for _ in range(count):
                if mine:
                    yield f"[{number}] "
                    await asyncio.sleep(every / 1000)
                number += 1
        elif mine and word == "big":
            yield "x" * (int(rest) * 1024)
            await asyncio.sleep(0)
        elif mine and word == "throw":
            raise RuntimeError(rest)
        elif word == "circular":
            if mine:
                yield "circular"
                return
            turn -= 1


def main(port, database):
    db = SqliteDb(db_file=database)
    agent = Agent(id="lab", name="Lab", model=Scripted(lab), tools=[emit_circular], db=db, telemetry=False)
    app = AgentOS(id="lab", agents=[agent], telemetry=False).get_app()
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error")
    server = uvicorn.Server(config)

    async def serve():
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.05)
        print(f"listens at http://127.0.0.1:{port}\nIt is process {os.getpid()}", flush=True)
        await task

    asyncio.run(serve())


main(int(sys.argv[1]), sys.argv[2])
