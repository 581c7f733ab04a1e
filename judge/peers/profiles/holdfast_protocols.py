"""Holdfast over its other protocols, with the requests of their clients."""
from typing import Any
from uuid import uuid4

from ..profile import Reading, Request
from .a2a import A2a
from .agno import Agno
from .hermes import Hermes
from .resumable_stream import ResumableStream


class HoldfastAgentOs(Agno):
    name = "holdfast-agentos"


class HoldfastA2a(A2a):
    name = "holdfast-a2a"
    ready = "/health"
    path = "/a2a/writer"


class HoldfastChat(Hermes):
    name = "holdfast-openai"
    ready = "/health"
    model = "writer"
    headers = {}


class HoldfastAiSdk(ResumableStream):
    name = "holdfast-ai-sdk"
    base = "/ai/writer/chat"

    def start(self, script: str, reading: Reading) -> Request:
        reading.handle["chat"] = str(uuid4())
        message = {"id": str(uuid4()), "role": "user", "parts": [{"type": "text", "text": script}]}
        return Request(self.base, json={"id": reading.handle["chat"], "messages": [message], "trigger": "submit-message"})

    def result(self, reading: Reading) -> Request | None:
        return Request(f"{self.base}/{reading.handle['chat']}/messages", "GET")

    def _outcome(self, message: dict[str, Any]) -> str:
        return "failed" if (message.get("metadata") or {}).get("error") else "completed"
