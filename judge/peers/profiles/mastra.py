"""A Mastra agent behind its Express adapter: a stream without a way back."""
import json
from typing import Any

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
        self._chunk(json.loads(frame.data), reading)

    def _chunk(self, chunk: dict[str, Any], reading: Reading) -> None:
        payload = chunk.get("payload", {})
        match chunk.get("type"):
            case "text-delta":
                reading.add_text(payload.get("text"))
            case "error" | "abort" | "tripwire":
                reading.end = "failed"
            case "finish":
                reason = (payload.get("stepResult") or {}).get("reason")
                reading.end = "failed" if reason in ("error", "abort") else "completed"


class MastraDurable(Mastra):
    """A durable agent: `observe` replays a run from its beginning."""

    name = "mastra-durable"
    replays = True

    def _chunk(self, chunk: dict[str, Any], reading: Reading) -> None:
        reading.handle["run"] = chunk.get("runId") or reading.handle.get("run")
        # `observe` sends the messages of the cache: `data` is a chunk, or the payload of the message's own type.
        data = chunk.get("data")
        if isinstance(data, dict):
            chunk = data if "payload" in data else {"type": chunk.get("type"), "payload": data}
        super()._chunk(chunk, reading)

    def resume(self, reading: Reading) -> Request | None:
        return Request("/api/agents/writer/observe", json={"runId": reading.handle["run"]})
