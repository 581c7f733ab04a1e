"""hermes-agent's OpenAI-compatible API server: chat completions, which nobody can resume."""
import json

from ...sse import Frame
from ..profile import Defaults, Reading, Request

KEY = "judge-key-of-hermes"


class Hermes(Defaults):
    name = "hermes"
    ready = "/v1/models"
    replays = False
    model = "hermes-agent"
    headers: dict[str, str] = {"authorization": f"Bearer {KEY}"}

    def start(self, script: str, reading: Reading) -> Request:
        body = {"model": self.model, "stream": True, "messages": [{"role": "user", "content": script}]}
        return Request("/v1/chat/completions", headers=self.headers, json=body)

    def read(self, frame: Frame, reading: Reading) -> None:
        if frame.data == b"[DONE]" or frame.event is not None:
            return
        chunk = json.loads(frame.data)
        if chunk.get("error"):
            reading.end = "failed"
            return
        for choice in chunk.get("choices", []):
            reading.add_text((choice.get("delta") or {}).get("content"))
            if choice.get("finish_reason") is not None:
                reading.end = "failed" if choice["finish_reason"] == "error" else "completed"
