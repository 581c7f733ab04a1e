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
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os import AgentOS
from agno.run.agent import CustomEvent


@dataclass
class Emitted(CustomEvent):
    value: Optional[Any] = None


async def emit_circular():
    """Emits an event that contains itself."""
    value: dict = {}
    value["value"] = value
    yield Emitted(value=value)
    yield "emitted"


class Lab(Model):
    """Says what the script in the user's message tells it to; a tool call ends a turn, and the script goes on in the next."""

    def __init__(self):
        super().__init__(id="lab", name="Lab", provider="Lab")

    def invoke(self, *args, **kwargs):
        raise NotImplementedError

    def invoke_stream(self, *args, **kwargs):
        raise NotImplementedError

    async def ainvoke(self, messages, *args, **kwargs):
        whole = ModelResponse(role="assistant", content="")
        async for part in self.ainvoke_stream(messages):
            whole.content += part.content or ""
            whole.tool_calls = part.tool_calls or whole.tool_calls
        return whole

    async def ainvoke_stream(self, messages, *args, **kwargs):
        last = max(index for index, message in enumerate(messages) if message.role == "user")
        turn = sum(message.role == "tool" for message in messages[last:])
        async for part in perform(str(messages[last].content), turn):
            if part == "circular":
                call = {"name": "emit_circular", "arguments": "{}"}
                yield ModelResponse(role="assistant", tool_calls=[{"id": f"call-{turn}", "type": "function", "function": call}])
            else:
                yield ModelResponse(role="assistant", content=part)

    def _parse_provider_response(self, response, **kwargs):
        return response

    def _parse_provider_response_delta(self, response):
        return response


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
    agent = Agent(id="lab", name="Lab", model=Lab(), tools=[emit_circular], db=SqliteDb(db_file=database), telemetry=False)
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
