"""Server-sent events, read as bytes."""
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx

FRAME_BYTES_MAX = 16 * 1024 * 1024
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True)
class Frame:
    """`raw` is the whole frame as it was sent, without the blank line that ends it."""

    id: str | None
    event: str | None
    data: bytes
    raw: bytes


async def frames(response: httpx.Response) -> AsyncIterator[Frame]:
    """Complete frames only: a partial frame of a broken connection is dropped, as the standard requires."""
    held = b""
    async for chunk in response.aiter_raw():
        held += chunk
        *whole, held = _BLANK_LINE.split(held)
        if len(held) > FRAME_BYTES_MAX:
            raise ValueError(f"a frame is larger than {FRAME_BYTES_MAX} bytes")
        for raw in whole:
            frame = parse(raw)
            if frame is not None:
                yield frame


def parse(raw: bytes) -> Frame | None:
    """None for a frame of comments, such as a heartbeat."""
    fields: dict[str, bytes] = {}
    for line in raw.split(b"\n"):
        name, _, value = line.removesuffix(b"\r").partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data" and "data" in fields:
            fields["data"] += b"\n" + value
        elif name in (b"id", b"event", b"data"):
            fields[name.decode()] = value
    if "data" not in fields:
        return None
    id_, event = (fields[name].decode() if name in fields else None for name in ("id", "event"))
    return Frame(id_, event, fields["data"], raw)
