"""The official Python client with a server: what it sees of a task, as one line of JSON for each check."""

import asyncio
import json
import sys

import grpc
import httpx
from a2a.client import ClientConfig, create_client
from a2a.helpers import new_text_message
from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest, Role, SendMessageRequest, SubscribeToTaskRequest, TaskState


def request(text, task_id=None, context_id=None):
    return SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER, task_id=task_id, context_id=context_id))


def text_of(artifacts):
    return "".join(part.text for artifact in artifacts for part in artifact.parts)


async def streamed(events):
    seen, text = [], ""
    async for event in events:
        kind = event.WhichOneof("payload")
        seen.append(event)
        if kind == "task":
            text = text_of(event.task.artifacts)
        if kind == "artifact_update":
            update = event.artifact_update
            text = (text if update.append else "") + text_of([update.artifact])
    return seen, text


async def counts(client):
    seen, text = await streamed(client.send_message(request("text 5")))
    task = seen[0].task
    assert seen[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED, seen[-1]
    found = await client.get_task(GetTaskRequest(id=task.id))
    assert text != "" and text == text_of(found.artifacts), (text, found)


async def asks(client):
    seen, _ = await streamed(client.send_message(request("ask Which one?; text 1")))
    task = seen[0].task
    assert seen[-1].status_update.status.state == TaskState.TASK_STATE_INPUT_REQUIRED, seen[-1]
    seen, _ = await streamed(client.send_message(request("the blue one", task.id, task.context_id)))
    assert seen[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED, seen[-1]


async def cancels(client):
    events = client.send_message(request("text 5; hang"))
    task = (await anext(events)).task
    canceled = await client.cancel_task(CancelTaskRequest(id=task.id))
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED, canceled


async def subscribes(client):
    events = client.send_message(request("text 60 every 10"))
    task = (await anext(events)).task
    await events.aclose()
    _, text = await streamed(client.subscribe(SubscribeToTaskRequest(id=task.id)))
    positions = [text.index(f"[{index}]") for index in range(60)]
    assert positions == sorted(positions) and text.count("[") == 60, text


async def lists(client):
    page = await client.list_tasks(ListTasksRequest(page_size=1))
    assert len(page.tasks) == 1 and page.total_size > 1 and page.next_page_token, page


async def refuses(client):
    try:
        await client.get_task(GetTaskRequest(id="nowhere"))
    except Exception as error:
        assert "TaskNotFound" in type(error).__name__, repr(error)
        return
    raise AssertionError("a task that is not there was found")


async def main(url, binding):
    async with httpx.AsyncClient(timeout=30) as http:
        config = ClientConfig(
            httpx_client=http,
            supported_protocol_bindings=[binding],
            grpc_channel_factory=grpc.aio.insecure_channel,
        )
        for check in (counts, asks, cancels, subscribes, lists, refuses):
            said = {"title": f"{binding}: {check.__name__}"}
            try:
                await check(await create_client(url, client_config=config))
                print(json.dumps({**said, "passed": True}), flush=True)
            except Exception as error:
                print(json.dumps({**said, "passed": False, "problem": repr(error)[:2000]}), flush=True)


asyncio.run(main(*sys.argv[1:]))
