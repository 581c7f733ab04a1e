"""The wire as agno's clients without a library read it: forms out, frames in, split at blank lines."""

import json
import re

import httpx

# Where a family is served, the component of it that runs scripts, and how the names of its events begin.
FAMILIES = {
    "agent": ("agents", "lab", "Run"),
    "team": ("teams", "lab-team", "TeamRun"),
    "workflow": ("workflows", "lab-workflow", "Workflow"),
}
META = ("catch_up", "replay", "subscribed", "error")
SECONDS = 50


def expect(condition, otherwise):
    if not condition:
        raise AssertionError(otherwise)


def client(url):
    return httpx.AsyncClient(base_url=url, timeout=SECONDS)


async def frames(response):
    """The data of each frame, as far as it has come."""
    expect(response.status_code == 200, f"answered with {response.status_code}")
    kind = response.headers.get("content-type", "")
    expect("text/event-stream" in kind, f"the answer is {kind}")
    buffer = ""
    async for text in response.aiter_text():
        buffer += text
        while "\n\n" in buffer:
            frame, buffer = buffer.split("\n\n", 1)
            for line in frame.split("\n"):
                if line.startswith("data: "):
                    yield json.loads(line[6:])
    expect(buffer.strip() == "", f"the stream ended within a frame: {buffer!r}")


async def read(url, path, form, until=lambda seen: False):
    """The frames of a stream to its end, or until enough is seen; then the connection is closed."""
    seen = []
    async with client(url) as http, http.stream("POST", path, data=form) as response:
        async for data in frames(response):
            seen.append(data)
            if until(seen):
                break
    return seen


def data_of(seen):
    return [data for data in seen if data["event"] not in META]


def metas_of(seen):
    return [data["event"] for data in seen if data["event"] in META]


def indices_of(seen):
    return [data["event_index"] for data in data_of(seen)]


def text_of(seen):
    """What was said, from the pieces."""
    return "".join(data["content"] for data in seen if data["event"] == "RunContent" and data.get("content"))


def expect_whole(text, count):
    """What the lab says for `text COUNT`: each number once, in order."""
    numbers = [int(number) for number in re.findall(r"\[(\d+)\]", str(text))]
    expect(numbers == list(range(count)), f"something was lost, or said twice: {text!r}")
