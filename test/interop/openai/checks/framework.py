"""Pydantic AI, a framework that takes a base URL, on chat completions and on responses."""

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from .world import expect, failed, passed

MODELS = {"chat": OpenAIChatModel, "response": OpenAIResponsesModel}


async def check_framework(world):
    for api, model in MODELS.items():
        provider = OpenAIProvider(base_url=f"{world.url}/v1", api_key="none")
        for name, check in CHECKS.items():
            title = f"Pydantic AI, {api}: {name}"
            try:
                await check(lambda component: Agent(model(component, provider=provider)))
                passed(title)
            except Exception as problem:
                failed(title, problem)


async def check_whole(agent):
    result = await agent("lab").run("text 3; tool search; text 1")
    expect("[3]" in result.output, f"it says {result.output!r}")


async def check_stream(agent):
    async with agent("lab").run_stream("text 3; tool search; text 1") as result:
        text = "".join([piece async for piece in result.stream_text(delta=True)])
    expect("[3]" in text, f"it says {text!r}")


async def check_tool(agent):
    cities = []
    forecaster = agent("forecaster")

    @forecaster.tool_plain
    def weather(city: str) -> str:
        cities.append(city)
        return "snow"

    result = await forecaster.run("Oslo")
    expect(result.output == "It is snow.", f"it says {result.output!r}")
    expect(cities == ["Oslo"], f"the tool was executed for {cities}")


async def check_failure(agent):
    for script in ("throw boom", "text 2; throw boom"):
        await expect_boom(agent("lab").run(script))
        await expect_boom(streamed(agent("lab"), script))


async def streamed(agent, script):
    async with agent.run_stream(script) as result:
        async for _ in result.stream_text(delta=True):
            pass


async def expect_boom(asked):
    try:
        await asked
    except Exception as raised:
        expect("boom" in str(raised), f"raised {raised!r}")
        return
    raise AssertionError("nothing was raised")


CHECKS = {
    "the whole answer": check_whole,
    "the answer as a stream": check_stream,
    "a tool that it executes": check_tool,
    "a failure raises, whole and as a stream": check_failure,
}
