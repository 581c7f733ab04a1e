"""A model of agno that needs no key and no network."""

import json

from agno.models.base import Model
from agno.models.response import ModelResponse


class Scripted(Model):
    """Says what its script yields: texts, or tool calls as dictionaries."""

    def __init__(self, script):
        super().__init__(id="scripted", name="Scripted", provider="Scripted")
        self.script = script

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
        async for part in self.script(messages):
            if isinstance(part, str):
                yield ModelResponse(role="assistant", content=part)
            else:
                function = {"name": part["name"], "arguments": json.dumps(part["args"])}
                call = {"id": part["id"], "type": "function", "function": function}
                yield ModelResponse(role="assistant", tool_calls=[call])

    def _parse_provider_response(self, response, **kwargs):
        return response

    def _parse_provider_response_delta(self, response):
        return response
