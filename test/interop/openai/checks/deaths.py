"""A server that is killed or drained midway: every client is told, and the next process knows how the run ended."""

import asyncio

from .either import CLIENTS, call
from .resume import retrieve
from .ways import SUCCESS, WAYS, Asked, Got, poll, response, take
from .world import expect, failed, passed, until


async def check_deaths(world):
    for deed, name in (("kill", "server killed midway"), ("drain", "server drained midway")):
        await check_death(world, deed, name)
    for kind in CLIENTS:
        await check_going_on(world, kind)


async def check_death(world, deed, name):
    before = {run["id"] for run in await world.runs()}
    ways = [(kind, way) for kind in CLIENTS for way in WAYS]
    clients = [world.client(kind) for kind, _ in ways]
    asked = [
        asyncio.create_task(way.ask(client, Asked("lab", "text 3; hang"))) for client, (_, way) in zip(clients, ways)
    ]

    async def all_have_spoken():
        runs = [run for run in await world.runs() if run["id"] not in before]
        return len(runs) == len(ways) and all(run["events"] >= 5 for run in runs) and [run["id"] for run in runs]

    runs = await until("all runs have said something", all_have_spoken)
    await world.wants(deed)
    for (kind, way), got in zip(ways, await asyncio.gather(*asked)):
        title = f"{name}: {kind}, {way.name}"
        try:
            expect(got.raised is not None, f"nothing was raised; it ended with {got.finish}")
            expect(got.finish not in SUCCESS, f"it ended with {got.finish}")
            passed(title)
        except Exception as problem:
            failed(title, problem)
    await world.wants("start")
    await asyncio.gather(*(check_afterwards(world, name, kind, runs) for kind in CLIENTS))
    for client in clients:
        await call(client.close)


async def check_afterwards(world, name, kind, runs):
    title = f"{name}: {kind}, polled and resumed from each sequence number in the next process"
    client = world.client(kind)
    try:
        await asyncio.gather(*(expect_interrupted(client, run) for run in runs))
        passed(title)
    except Exception as problem:
        failed(title, problem)
    finally:
        await call(client.close)


async def expect_interrupted(client, run):
    answer_id = run.replace("run_", "resp_")
    answer = await poll(client, answer_id)
    expect(answer.status == "failed", f"{run} is {answer.status}")
    expect(answer.error.code == "interrupted", f"{run} has the error {answer.error}")
    whole = await retrieve(client, answer_id, None)
    for after in [None, *range(len(whole.seen))]:
        rest = await retrieve(client, answer_id, after)
        expect(rest.raised is not None, f"{run} after {after} raised nothing")
        expect(rest.seen == whole.seen[0 if after is None else after + 1 :], f"{run} differs after {after}")


async def check_going_on(world, kind):
    """The process dies within the run, and the run goes on in the next one."""
    title = f"server killed midway: {kind}, a run that resumes goes on from the event that the client has"
    try:
        got, broken = Got(), None
        client = world.client(kind)
        asked = response(Asked("lab-resume", "text 5; sleep 300; die 1; text 5"))
        try:
            await take(await call(client.responses.create, **asked, background=True, stream=True), got)
        except Exception as raised:
            broken = raised
        expect(broken is not None, "the stream ended as if all were said")
        await world.wants("start")
        client = world.client(kind)
        answer_id, last = got.run.replace("run_", "resp_"), got.seen[-1].sequence_number
        await take(await call(client.responses.retrieve, answer_id, stream=True, starting_after=last), got)
        numbers = [event.sequence_number for event in got.seen]
        expect(numbers == list(range(len(numbers))), f"the events are numbered {numbers}")
        expect(got.finish == "completed", f"ended with {got.finish}")
        logged = await world.text(got.run)
        expect(got.text == logged, f"the text is {got.text!r}, and that of the log {logged!r}")
        passed(title)
    except Exception as problem:
        failed(title, problem)
