"""Plain node:http: forwards the words and stores nothing. The baseline of every figure."""
import json

from ...sse import Frame
from ..profile import Defaults, Reading, Request


class Plain(Defaults):
    name = "plain"
    ready = "/health"
    replays = False

    def start(self, script: str, reading: Reading) -> Request:
        return Request("/runs", json={"text": script})

    def read(self, frame: Frame, reading: Reading) -> None:
        message = json.loads(frame.data)
        reading.add_text(message.get("text"))
        reading.end = message.get("end")
