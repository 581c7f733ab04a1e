"""An agent behind the official Python server: JSON-RPC, HTTP+JSON and gRPC, 1.0 and 0.3."""

import asyncio
import socket

import grpc
import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, a2a_pb2_grpc
from starlette.applications import Starlette


class Counter(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        text = context.get_user_input()
        if text == "ask":
            await updater.requires_input(message=new_text_message("Which one?", context_id=task.context_id, task_id=task.id))
            return
        await updater.start_work()
        for index in range(20):
            await updater.add_artifact([Part(text=f"[{index}]")], artifact_id="answer", append=index > 0)
            await asyncio.sleep(0.02)
        if text.startswith("endless"):
            await asyncio.sleep(60)
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def main():
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    calls = grpc.aio.server()
    grpc_port = calls.add_insecure_port("127.0.0.1:0")
    addresses = [(f"{url}/rpc", "JSONRPC"), (f"{url}/rest", "HTTP+JSON"), (f"127.0.0.1:{grpc_port}", "GRPC")]
    card = AgentCard(
        name="counter",
        description="counts",
        version="1",
        supported_interfaces=[
            AgentInterface(url=address, protocol_binding=binding, protocol_version=version)
            for version in ("1.0", "0.3")
            for address, binding in addresses
            if version == "1.0" or binding != "GRPC"
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="count", name="count", description="counts", tags=["count"])],
    )
    handler = DefaultRequestHandler(agent_executor=Counter(), task_store=InMemoryTaskStore(), agent_card=card)
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), calls)
    await calls.start()
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True),
        *create_rest_routes(handler, path_prefix="/rest", enable_v0_3_compat=True),
    ]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="warning"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.05)
    print(f"listens at {url}", flush=True)
    await serving


asyncio.run(main())
