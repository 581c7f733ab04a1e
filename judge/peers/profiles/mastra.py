"""A Mastra agent behind its Express adapter: a stream without a way back."""
import json

from ...sse import Frame
from ..profile import Defaults, Reading, Request


class Mastra(Defaults):
    name = "mastra"
    ready = "/health"
    replays = False

    def start(self, script: str, reading: Reading) -> Request:
        return Request("/api/agents/writer/stream", json={"messages": [{"role": "user", "content": script}]})

    def read(self, frame: Frame, reading: Reading) -> None:
        if frame.data == b"[DONE]":
            return
        chunk = json.loads(frame.data)
        payload = chunk.get("payload", {})
        match chunk.get("type"):
            case "text-delta":
                reading.add_text(payload.get("text"))
            case "error" | "abort" | "tripwire":
                reading.end = "failed"
            case "finish":
                reason = (payload.get("stepResult") or {}).get("reason")
                reading.end = "failed" if reason == "error" else "completed"
