"""The WebSocket of workflows: started, cut, taken up again."""

import asyncio
import json

import websockets

from .wire import expect, expect_whole, indices_of, metas_of, text_of

MESSAGE_SECONDS = 30
AWAY_SECONDS = 0.3


def parse(message):
    """Live events come framed, all else as plain JSON."""
    for line in message.splitlines():
        if line.startswith("data: "):
            return json.loads(line[6:])
    return json.loads(message)


async def receive(socket):
    return parse(await asyncio.wait_for(socket.recv(), MESSAGE_SECONDS))


async def open_socket(url):
    socket = await websockets.connect(url.replace("http", "ws", 1) + "/workflows/ws", open_timeout=MESSAGE_SECONDS)
    greeting = await receive(socket)
    expect(greeting["event"] == "connected" and not greeting["requires_auth"], f"it greets with {greeting}")
    return socket


async def read_to_end(socket):
    seen = []
    while not seen or seen[-1]["event"] not in ("WorkflowCompleted", "WorkflowError", "WorkflowCancelled"):
        seen.append(await receive(socket))
    return seen


async def check_stream(url):
    """a workflow that is started over a socket streams to its end, with indices"""
    socket = await open_socket(url)
    async with socket:
        start = {"action": "start-workflow", "workflow_id": "lab-workflow", "message": "text 10", "session_id": "s-socket"}
        await socket.send(json.dumps(start))
        seen = await read_to_end(socket)
    expect(seen[-1]["event"] == "WorkflowCompleted", f"it ended with {seen[-1]}")
    expect(indices_of(seen) == list(range(len(seen))), f"the indices are {indices_of(seen)}")
    expect_whole(text_of(seen), 10)


async def check_reconnect(url):
    """a socket that is cut is taken up again by another, without a gap"""
    socket = await open_socket(url)
    start = {"action": "start-workflow", "workflow_id": "lab-workflow", "message": "text 60 every 20"}
    async with socket:
        await socket.send(json.dumps(start))
        before = [await receive(socket) for _ in range(6)]
    again = {"action": "reconnect", "workflow_id": "lab-workflow", "run_id": before[0]["run_id"]}
    again |= {"session_id": before[0]["session_id"], "last_event_index": before[-1]["event_index"]}
    await asyncio.sleep(AWAY_SECONDS)
    socket = await open_socket(url)
    async with socket:
        await socket.send(json.dumps(again))
        after = await read_to_end(socket)
    expect(metas_of(after)[:1] == ["catch_up"], f"the metas are {metas_of(after)}")
    indices = indices_of(before) + indices_of(after)
    expect(indices == list(range(len(indices))), f"the indices are {indices}")
    expect_whole(text_of(before + after), 60)
