"""A2A 1.0 over JSON-RPC: FastA2A behind pydantic-ai, and the official SDK's server for Node."""
import json
from typing import Any
from uuid import uuid4

from ...sse import Frame
from ..profile import Defaults, Reading, Request


class A2a(Defaults):
    replays = True
    """The specification: SubscribeToTask is refused for a task in a terminal state."""
    streams_ended = False
    ready = "/.well-known/agent-card.json"
    path = "/"
    headers: dict[str, str] = {"a2a-version": "1.0"}

    def _call(self, method: str, params: dict[str, Any]) -> Request:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return Request(self.path, headers=self.headers, json=body)

    def start(self, script: str, reading: Reading) -> Request:
        message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": script}]}
        return self._call("SendStreamingMessage", {"message": message})

    def read(self, frame: Frame, reading: Reading) -> None:
        body = json.loads(frame.data)
        if "error" in body:
            reading.refusal = body["error"].get("message", "error")
            return
        result = body["result"]
        if "task" in result:
            self._task(result["task"], reading)
        elif "artifactUpdate" in result:
            self._artifact(result["artifactUpdate"], reading)
        elif "statusUpdate" in result:
            reading.handle["run"] = result["statusUpdate"]["taskId"]
            self._state(result["statusUpdate"]["status"], reading)

    def _artifact(self, update: dict[str, Any], reading: Reading) -> None:
        """Without `append` it replaces an artifact of the same id."""
        reading.handle["run"] = update["taskId"]
        seen = reading.handle.setdefault("artifacts", set())
        artifact = update["artifact"]
        if artifact["artifactId"] in seen and not update.get("append"):
            reading.words = []  # these servers have one artifact
        seen.add(artifact["artifactId"])
        for part in artifact.get("parts", []):
            reading.add_text(part.get("text"))

    def _task(self, task: dict[str, Any], reading: Reading) -> None:
        """The current task: it replaces the client's state."""
        reading.handle["run"] = task["id"]
        reading.words = []
        for artifact in task.get("artifacts", []):
            reading.handle.setdefault("artifacts", set()).add(artifact["artifactId"])
            for part in artifact.get("parts", []):
                reading.add_text(part.get("text"))
        self._state(task["status"], reading)

    def _state(self, status: dict[str, Any], reading: Reading) -> None:
        state = status["state"].removeprefix("TASK_STATE_").lower()
        if state == "completed":
            reading.end = "completed"
        elif state in ("failed", "canceled", "rejected"):
            reading.end = "failed"

    def resume(self, reading: Reading) -> Request | None:
        return self._call("SubscribeToTask", {"id": reading.handle["run"]})

    def result(self, reading: Reading) -> Request | None:
        return self._call("GetTask", {"id": reading.handle["run"]})

    def read_result(self, body: Any, reading: Reading) -> None:
        if "error" in body:
            reading.refusal = body["error"].get("message", "error")
        else:
            self._task(body["result"].get("task", body["result"]), reading)


class FastA2a(A2a):
    name = "fasta2a"


class A2aSdk(A2a):
    name = "a2a-js"
