"""One way to write down what is done with the client that blocks and with the one that does not."""

import asyncio
from contextlib import asynccontextmanager

import openai

CLIENTS = {"OpenAI": openai.OpenAI, "AsyncOpenAI": openai.AsyncOpenAI}
END = object()


async def call(function, /, *args, **named):
    """A method of either client, or of what it gave; what blocks does so in a thread of its own."""
    if type(function.__self__).__name__.startswith("Async"):
        return await function(*args, **named)
    return await asyncio.to_thread(function, *args, **named)


async def each(stream):
    if hasattr(stream, "__aiter__"):
        async for item in stream:
            yield item
        return
    iterator = iter(stream)
    while (item := await asyncio.to_thread(next, iterator, END)) is not END:
        yield item


@asynccontextmanager
async def entered(manager):
    if hasattr(manager, "__aenter__"):
        async with manager as stream:
            yield stream
        return
    stream = await asyncio.to_thread(manager.__enter__)
    try:
        yield stream
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)
