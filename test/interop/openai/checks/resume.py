"""A response that is taken up again from each of its sequence numbers."""

from .either import call, entered
from .ways import Asked, Got, response, take
from .world import expect, failed, passed


async def gathered(stream):
    """The events to the end, and what was raised."""
    got = Got()
    try:
        await take(stream, got)
    except Exception as raised:
        got.raised = raised
    return got


async def retrieve(client, answer_id, after):
    named = {} if after is None else {"starting_after": after}
    return await gathered(await call(client.responses.retrieve, answer_id, stream=True, **named))


def told(raised):
    """What an exception says, without what belongs to one connection."""
    return raised and (type(raised), str(raised), getattr(raised, "code", None))


async def expect_same_from_each(client, live, fails):
    answer_id = live.run.replace("run_", "resp_")
    numbers = [event.sequence_number for event in live.seen]
    expect(numbers == list(range(len(numbers))), f"the events are numbered {numbers}")
    for after in [None, *numbers]:
        rest = await retrieve(client, answer_id, after)
        expected = live.seen[0 if after is None else after + 1 :]
        expect(rest.seen == expected, f"after {after} it has {[e.type for e in rest.seen]}")
        expect((rest.raised is not None) == fails, f"after {after} it raised {rest.raised!r}")
        expect(told(rest.raised) == told(live.raised), f"after {after} it raised {rest.raised!r}, not {live.raised!r}")


async def check_resume(world, case, kind):
    title = f"{case.name}: {kind}, response, resumed from each sequence number"
    client = world.client(kind, world.relay if case.split else None)
    try:
        asked = response(Asked(case.model, case.input))
        live = await gathered(await call(client.responses.create, **asked, background=True, stream=True))
        await expect_same_from_each(client, live, case.fails)
        async with entered(client.responses.stream(response_id=live.run.replace("run_", "resp_"))) as stream:
            helped = await gathered(stream)
        expect(helped.text == live.text, f"the helper has the text {helped.text!r}")
        expect((helped.raised is not None) == case.fails, f"in the helper it raised {helped.raised!r}")
        passed(title)
    except Exception as problem:
        failed(title, problem)
    finally:
        await call(client.close)
