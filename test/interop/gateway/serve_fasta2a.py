"""An A2A agent of FastA2A and pydantic-ai on a scripted model server. Arguments: port, URL of the model server."""

import sys

import uvicorn
from fasta2a.pydantic_ai import agent_to_a2a
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

port, model_url = int(sys.argv[1]), sys.argv[2]
model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=model_url, api_key="none"))
app = agent_to_a2a(Agent(model), name="kelp", url=f"http://127.0.0.1:{port}")
uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")
