"""Every way in which OpenAI's package asks for an answer, in one form: the text that came, and what was raised."""

import asyncio
from dataclasses import dataclass, field

from .either import call, each, entered

POLL_SECONDS = 0.1
SUCCESS = ("stop", "completed")


@dataclass
class Asked:
    model: str
    input: str


@dataclass
class Got:
    text: str = ""
    # What the client says about the end.
    finish: str | None = None
    # The last exception, or the error of a response that was polled.
    raised: object = None
    # The run, as far as the client was told which one it is.
    run: str | None = None
    seen: list = field(default_factory=list)

    def name(self, answer_id):
        self.run = "run_" + answer_id.removeprefix("chatcmpl-").removeprefix("resp_")


def chat(asked):
    return {"model": asked.model, "messages": [{"role": "user", "content": asked.input}]}


def response(asked):
    return {"model": asked.model, "input": asked.input}


async def chat_stream(client, asked, got):
    async for chunk in each(await call(client.chat.completions.create, **chat(asked), stream=True)):
        got.name(chunk.id)
        for choice in chunk.choices:
            got.text += choice.delta.content or ""
            got.finish = choice.finish_reason or got.finish


async def chat_helper(client, asked, got):
    async with entered(client.chat.completions.stream(**chat(asked))) as stream:
        async for event in each(stream):
            if event.type == "chunk":
                got.name(event.chunk.id)
            if event.type == "content.delta":
                got.text += event.delta
        final = await call(stream.get_final_completion)
    got.finish = final.choices[0].finish_reason


async def chat_whole(client, asked, got):
    completion = await call(client.chat.completions.create, **chat(asked))
    got.name(completion.id)
    got.text = completion.choices[0].message.content
    got.finish = completion.choices[0].finish_reason


async def take(events, got, enough=lambda event: False):
    """Events of a response, to the end or to the first that is enough; gives the number of the last."""
    last = None
    async for event in each(events):
        got.seen.append(event)
        last = event.sequence_number
        if hasattr(event, "response"):
            got.name(event.response.id)
            got.finish = event.response.status
        if event.type == "response.output_text.delta":
            got.text += event.delta
        if enough(event):
            break
    return last


async def response_stream(client, asked, got):
    await take(await call(client.responses.create, **response(asked), stream=True), got)


async def response_helper(client, asked, got):
    async with entered(client.responses.stream(**response(asked))) as stream:
        await take(stream, got)
        got.finish = (await call(stream.get_final_response)).status


async def response_whole(client, asked, got):
    answer = await call(client.responses.create, **response(asked))
    got.name(answer.id)
    got.text, got.finish = answer.output_text, answer.status


async def poll(client, answer_id):
    while True:
        answer = await call(client.responses.retrieve, answer_id)
        if answer.status not in ("queued", "in_progress"):
            return answer
        await asyncio.sleep(POLL_SECONDS)


async def response_background(client, asked, got):
    answer = await call(client.responses.create, **response(asked), background=True)
    got.name(answer.id)
    answer = await poll(client, answer.id)
    got.text, got.finish = answer.output_text, answer.status
    got.raised = answer.error


async def cut(client, asked, got):
    """A stream in the background of which the first piece of text is taken; the connection is closed."""
    stream = await call(client.responses.create, **response(asked), background=True, stream=True)
    last = await take(stream, got, lambda event: event.type == "response.output_text.delta")
    await call(stream.close)
    return got.run.replace("run_", "resp_"), last


async def response_resumed(client, asked, got):
    answer_id, last = await cut(client, asked, got)
    await take(await call(client.responses.retrieve, answer_id, stream=True, starting_after=last), got)


async def response_resumed_by_helper(client, asked, got):
    answer_id, last = await cut(client, asked, got)
    async with entered(client.responses.stream(response_id=answer_id, starting_after=last)) as stream:
        await take(stream, got)
        got.finish = (await call(stream.get_final_response)).status


@dataclass
class Way:
    name: str
    # Text comes as it is said, and the client's patience is for each piece of it.
    streams: bool
    act: object

    async def ask(self, client, asked):
        got = Got()
        try:
            await self.act(client, asked, got)
        except Exception as raised:  # whatever it is, the program has been told
            got.raised = raised
            headers = getattr(getattr(raised, "response", None), "headers", {})
            got.run = got.run or headers.get("holdfast-run")
        return got


WAYS = [
    Way("chat, stream", True, chat_stream),
    Way("chat, helper", True, chat_helper),
    Way("chat, whole", False, chat_whole),
    Way("response, stream", True, response_stream),
    Way("response, helper", True, response_helper),
    Way("response, whole", False, response_whole),
    Way("response, background", False, response_background),
    Way("response, resumed", True, response_resumed),
    Way("response, resumed by the helper", True, response_resumed_by_helper),
]
