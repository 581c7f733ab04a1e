"""An A2A agent of FastA2A and pydantic-ai on a scripted model server. Arguments: port, URL of the model server."""

import sys
from functools import partial

import uvicorn
from fasta2a.broker import InMemoryBroker
from fasta2a.pydantic_ai import AgentWorker, agent_to_a2a, worker_lifespan
from fasta2a.schema import Artifact, Part
from fasta2a.storage import InMemoryStorage
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


class ScriptedWorker(AgentWorker):
    """Does what the message says: `worker raises`, `worker leaves`, `worker rejects`; else asks the agent."""

    async def run_task(self, params):
        text = "".join(part.get("text", "") for part in params["message"]["parts"])
        if "worker " not in text:
            return await super().run_task(params)
        task_id, context_id = params["id"], params["context_id"]
        await self.storage.update_task(task_id, state="working")
        await self.publish_status(task_id, context_id, "working")
        if "rejects" in text:
            await self.storage.update_task(task_id, state="rejected")
            return
        for word in ("w0 ", "w1 ", "w2 "):
            artifact = Artifact(artifact_id="answer", parts=[Part(text=word)])
            await self.publish_artifact(task_id, context_id, artifact, append=True, last_chunk=False)
        if "raises" in text:
            raise RuntimeError("the worker failed")


port, model_url = int(sys.argv[1]), sys.argv[2]
agent = Agent(OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=model_url, api_key="none")))
storage, broker = InMemoryStorage(), InMemoryBroker()
worker = ScriptedWorker(agent=agent, broker=broker, storage=storage)
app = agent_to_a2a(
    agent,
    name="kelp",
    url=f"http://127.0.0.1:{port}",
    storage=storage,
    broker=broker,
    lifespan=partial(worker_lifespan, worker=worker, agent=agent),
)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")
