"""An AI SDK route with resumable-stream on Redis, written as the AI SDK's guide to resuming chats says."""
import json
from typing import Any
from uuid import uuid4

from ...sse import Frame
from ..profile import Defaults, Reading, Request


class ResumableStream(Defaults):
    name = "resumable-stream"
    ready = "/health"
    replays = True
    base = "/api/chat"

    def start(self, script: str, reading: Reading) -> Request:
        reading.handle["chat"] = str(uuid4())
        return Request(self.base, json={"id": reading.handle["chat"], "text": script})

    def read(self, frame: Frame, reading: Reading) -> None:
        if frame.data == b"[DONE]":
            return
        chunk = json.loads(frame.data)
        match chunk["type"]:
            case "text-delta":
                reading.add_text(chunk["delta"])
            case "error" | "abort":
                reading.end = "failed"
            case "finish":
                reading.end = "failed" if chunk.get("finishReason") == "error" else "completed"

    def resume(self, reading: Reading) -> Request | None:
        return Request(f"{self.base}/{reading.handle['chat']}/stream", "GET")

    def result(self, reading: Reading) -> Request | None:
        return Request(f"{self.base}/{reading.handle['chat']}", "GET")

    def read_result(self, body: Any, reading: Reading) -> None:
        """Returns the saved messages; a chat without an assistant message has no outcome."""
        for message in body["messages"]:
            if message["role"] == "assistant":
                reading.set_text("".join(part.get("text", "") for part in message["parts"]))
                reading.end = self._outcome(message)

    def _outcome(self, message: dict[str, Any]) -> str:
        """The outcome of a saved message, which does not record failures."""
        return "completed"
