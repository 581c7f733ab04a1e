"""A route that writes the model's words into a stream of the Durable Streams server for Node, with its files on disk."""
import json
from typing import Any
from uuid import uuid4

from ...sse import Frame
from ..profile import Defaults, Reading, Request


class DurableStreams(Defaults):
    name = "durable-streams"
    ready = "/health"
    replays = False

    def prepare(self, script: str) -> Request | None:
        return Request("/runs", json={"id": str(uuid4()), "text": script})

    def prepared(self, body: Any, reading: Reading) -> None:
        reading.handle["run"] = body["id"]

    def start(self, script: str, reading: Reading) -> Request:
        return self._from("-1", reading)

    def _from(self, offset: str, reading: Reading) -> Request:
        return Request(f"/streams/{reading.handle['run']}?offset={offset}&live=sse", "GET")

    def read(self, frame: Frame, reading: Reading) -> None:
        """As its client does: a batch is shown when the offset after it is known."""
        body = json.loads(frame.data)
        batch = reading.handle.setdefault("batch", [])
        if frame.event != "control":
            batch += body if isinstance(body, list) else [body]
            return
        reading.handle["cursor"] = body["streamNextOffset"]
        for message in batch:
            reading.add_text(message.get("text"))
            reading.end = message.get("end", reading.end)
        batch.clear()

    def resume(self, reading: Reading) -> Request | None:
        reading.handle["batch"] = []
        return self._from(reading.handle.get("cursor") or "-1", reading)
