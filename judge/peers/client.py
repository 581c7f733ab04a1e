"""One connection of a client: reads until the server reports the outcome, the stream ends, or no data arrives."""
import asyncio
import json
from collections.abc import Callable

import httpx

from .. import sse
from .profile import Profile, Reading, Request

# Idle timeout of the client.
PATIENCE_S = 20.0
# Heartbeats are bytes: this bounds a stream that sends nothing else.
STREAM_S = 60.0
FAULTS = (httpx.HTTPError, httpx.StreamError, OSError)


def open_http(patience_s: float = PATIENCE_S) -> httpx.AsyncClient:
    """Opens a connection per request, like a new page."""
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=0)
    return httpx.AsyncClient(timeout=httpx.Timeout(patience_s, connect=5.0), limits=limits, trust_env=False)


async def read(
    http: httpx.AsyncClient,
    base: str,
    profile: Profile,
    request: Request,
    reading: Reading,
    leave: Callable[[Reading], bool] = lambda _: False,
) -> str:
    """Returns how the connection ended: `said` (the server stated an end), `left`, `ended` (without a statement), `refused`, `cut`, `silence` or `HTTP 404`."""
    try:
        async with asyncio.timeout(STREAM_S), _stream(http, base, request) as response:
            if response.status_code >= 300 or response.status_code == 204:
                return f"HTTP {response.status_code}"
            async for frame in sse.frames(response):
                profile.read(frame, reading)
                if reading.refusal is not None:
                    return "refused"
                if leave(reading):
                    return "left"
                if reading.end is not None:
                    return "said"
            reading.end = profile.end_of_stream
            return "ended"
    except (httpx.TimeoutException, TimeoutError):
        return "silence"
    except FAULTS:
        return "cut"


def _stream(http: httpx.AsyncClient, base: str, request: Request):
    headers = {"accept": "text/event-stream", **request.headers}
    return http.stream(request.method, base + request.path, headers=headers, json=request.json, data=request.form)


async def ask(http: httpx.AsyncClient, base: str, request: Request) -> object | None:
    """The JSON of a complete response; None if there is none or it is an error."""
    try:
        response = await http.request(
            request.method, base + request.path, headers=request.headers, json=request.json, data=request.form
        )
        return response.json() if response.status_code < 300 else None
    except (*FAULTS, json.JSONDecodeError):
        return None
