"""A scripted model behind chat completions. The last `words N every MS`, `cut …` or `hold …` in the request is its script."""
import asyncio
import json
import re
from typing import Any

HEAD_BYTES_MAX = 64 * 1024
BODY_BYTES_MAX = 8 * 1024 * 1024
# Longer than anybody waits.
HOLD_S = 3600.0
_SCRIPT = re.compile(r"(words|cut|hold) (\d+) every (\d+)")
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Model:
    """Serves until it is closed. `cut` breaks the connection after its last word, like a model server that dies; `hold` sends nothing more."""

    def __init__(self) -> None:
        self._server: asyncio.Server

    async def open(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=HEAD_BYTES_MAX)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def close(self) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            found = _LENGTH.search(head)
            length = min(int(found.group(1)) if found else 0, BODY_BYTES_MAX)
            body = (await reader.readexactly(length)).decode()
            if head.startswith(b"GET"):
                await _whole(writer, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
            else:
                await _play(writer, body)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # the server or the judge has disconnected
        finally:
            writer.close()


async def _play(writer: asyncio.StreamWriter, body: str) -> None:
    scripts = _SCRIPT.findall(body)
    kind, count, every = scripts[-1] if scripts else ("words", "3", "0")
    words = [f"w{number} " for number in range(int(count))]
    if not json.loads(body).get("stream"):
        await asyncio.sleep(int(every) * len(words) / 1000)
        message = {"role": "assistant", "content": "".join(words)}
        await _whole(writer, _completion([{"index": 0, "message": message, "finish_reason": "stop"}]))
        return
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n")
    for word in words:
        await _send(writer, _chunk({"role": "assistant", "content": word}, None))
        await asyncio.sleep(int(every) / 1000)
    if kind == "cut":
        writer.transport.abort()
        return
    if kind == "hold":
        await asyncio.sleep(HOLD_S)
    await _send(writer, _chunk({}, "stop"))
    writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
    await writer.drain()


async def _send(writer: asyncio.StreamWriter, chunk: dict[str, Any]) -> None:
    frame = f"data: {json.dumps(chunk)}\n\n".encode()
    writer.write(b"%x\r\n%b\r\n" % (len(frame), frame))
    await writer.drain()


def _chunk(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    chunk = _completion([{"index": 0, "delta": delta, "finish_reason": finish}])
    return {**chunk, "object": "chat.completion.chunk"}


def _completion(choices: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": choices, "usage": usage}


async def _whole(writer: asyncio.StreamWriter, body: dict[str, Any]) -> None:
    data = json.dumps(body).encode()
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(data))
    writer.write(data)
    await writer.drain()
