"""Does each thing to a server that goes wrong in practice, and says what a client sees: `python -m compare.observe URL PID [RESUMING]`."""

import asyncio
import json
import re
import sys
import time
import uuid

import httpx
from agno.client import AgentOSClient

META = ("catch_up", "replay", "subscribed", "error", "stream_expired")
TERMINAL = ("COMPLETED", "CANCELLED", "ERROR", "PAUSED")
SETTLE_SECONDS = 12
LAB = "/agents/lab"
CLOSED = "closed"


class Observer:
    def __init__(self, url, pid, resuming):
        self.url, self.pid, self.resuming = url, pid, resuming

    # What a client can do

    def http(self):
        return httpx.AsyncClient(base_url=self.url, timeout=60)

    async def stream(self, path, form, until=lambda seen: False):
        """Frames until enough is seen, and how the stream ended."""
        seen = []
        try:
            async with self.http() as http, http.stream("POST", path, data=form) as response:
                if response.status_code != 200:
                    return seen, f"HTTP {response.status_code}"
                async for line in response.aiter_lines():
                    if line.startswith("data: "):
                        seen.append(json.loads(line[6:]))
                        if until(seen):
                            return seen, "left"
            return seen, CLOSED
        except httpx.HTTPError as error:
            return seen, f"then cut ({type(error).__name__})"

    async def begin(self, script, events, background="true", component=LAB):
        """Starts a run and leaves after some events."""
        form = {"message": script, "stream": "true", "background": background, "session_id": f"s-{uuid.uuid4()}"}
        seen, _ = await self.stream(f"{component}/runs", form, lambda seen: len(seen) >= events)
        return Run(seen, component, form["session_id"])

    async def resume(self, run, index=None):
        form = {"session_id": run.session}
        if index is not None:
            form["last_event_index"] = str(index)
        return await self.stream(f"{run.path}/resume", form)

    async def look(self, run):
        """The run as it is stored."""
        async with self.http() as http:
            answer = await http.get(run.path, params={"session_id": run.session})
        return answer.json() if answer.status_code == 200 else {"status": f"HTTP {answer.status_code}"}

    async def settled(self, run):
        """The run when it has come to an end, or after some seconds as it is then."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while (stored := await self.look(run))["status"] not in TERMINAL and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
        return stored

    async def restart(self):
        """Killed with -9 and started again, by whoever started it."""
        print(json.dumps({"restart": True}), flush=True)
        self.pid = int((await asyncio.to_thread(sys.stdin.readline)).split()[1])

    def memory(self):
        """Megabytes of the server."""
        with open(f"/proc/{self.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024

    # What goes wrong

    async def throw(self):
        """The agent throws"""
        script = "text 3; throw boom"
        answer = await AgentOSClient(base_url=self.url).run_agent("lab", script)
        yield "response without `stream`", f"status `{getattr(answer.status, 'value', answer.status)}`, content “{answer.content}”"
        seen, end = await self.stream(f"{LAB}/runs", {"message": script, "stream": "true"})
        yield "foreground stream", heard(seen, end)
        run = await self.begin(script, 99)
        await self.settled(run)
        seen, end = await self.resume(run, 1)
        yield "`/resume` after the end", heard(seen, end)

    async def unserializable(self):
        """An event contains a cycle"""
        script = "text 3; circular; text 3"
        seen, end = await self.stream(f"{LAB}/runs", {"message": script, "stream": "true"})
        yield "foreground stream", heard(seen, end)
        form = {"message": script, "stream": "true", "background": "true", "session_id": f"s-{uuid.uuid4()}"}
        seen, end = await self.stream(f"{LAB}/runs", form)
        run = Run(seen, LAB, form["session_id"])
        yield "background stream", f"{heard(seen, end)}; {numbering(seen)}"
        yield "stored as", stored(await self.settled(run))
        seen, end = await self.resume(run)
        yield "`/resume` after the end", heard(seen, end)

    async def disconnect(self):
        """The client disconnects during the run"""
        run = await self.begin("text 40 every 50", 8, background="false")
        done = await self.settled(run)
        yield "foreground run afterwards", f"{stored(done)}, {said(done.get('content'))} of 40 pieces kept"
        seen, end = await self.resume(run, 7)
        yield "`/resume` of the foreground run", heard(seen, end)
        run = await self.begin("text 40 every 50", 8)
        await asyncio.sleep(0.5)
        seen, end = await self.resume(run, run.last)
        yield "background run, `/resume`", f"{heard(seen, end)}; {together(run.seen, seen, 40)}"

    async def restarted(self):
        """`kill -9` of the server during the run, then a restart"""
        for what, component in (("", LAB), (" (component that resumes)", self.resuming)):
            if component is None:
                yield f"stored as{what}", "not supported"
                yield f"`/resume`{what}", "not supported"
                continue
            run = await self.begin("text 60 every 50", 12, component=component)
            await self.restart()
            yield f"stored as{what}", f"{stored(await self.settled(run))}"
            seen, end = await self.resume(run, run.last)
            yield f"`/resume`{what}", f"{heard(seen, end)}; {together(run.seen, seen, 60)}"

    async def second(self):
        """A second subscriber joins later"""
        run = await self.begin("text 60 every 30", 8)
        (one, _), (other, _) = await asyncio.gather(self.resume(run, -1), self.resume(run, -1))
        same = "the same" if data(one) == data(other) else "not the same"
        yield "two subscribers, from the first event", f"{len(data(one))} and {len(data(other))} events, {same}; {numbering(one)}"
        live = "equal" if data(one)[: len(run.seen)] == run.seen else "not equal"
        yield "live events and their replay", live

    async def slow(self):
        """A subscriber does not read"""
        script = "; ".join(["text 1"] + ["big 64"] * PIECES)
        for _ in range(RUNS_BEFORE):  # a garbage collector has its own idea of how much memory there is
            await self.begin(script, 10_000)
        before = self.memory()
        form = {"message": script, "stream": "true", "background": "true", "session_id": f"s-{uuid.uuid4()}"}
        async with self.http() as http, http.stream("POST", f"{LAB}/runs", data=form) as response:
            lines = response.aiter_lines()
            first = {}
            async for line in lines:  # one event, and then nothing for a while
                if line.startswith("data: "):
                    first = json.loads(line[6:])
                    break
            run = Run([first], LAB, form["session_id"])
            fast, _ = await self.resume(run, -1)
            grown = self.memory() - before
            pieces = sum(event.get("event") == "RunContent" for event in fast)
            yield "another subscriber, meanwhile", f"{pieces} of {PIECES + 1} pieces"
            yield f"memory growth of the server during the {RUNS_BEFORE + 1}th run of {PIECES // 16} MB", f"{max(0, grown):.0f} MB"
            late = 0
            try:
                async for line in lines:
                    late += line.startswith("data: ") and '"event":"RunContent"' in line[:400]
                how = ""
            except httpx.HTTPError as error:
                how = f"; then cut ({type(error).__name__})"
            yield "the slow subscriber, when it reads again", f"{late} of {PIECES + 1} pieces{how}"

    async def cancel(self):
        """The run is cancelled"""
        run = await self.begin("text 200 every 30", 8)
        async with self.http() as http:
            answer = await http.post(f"{run.path}/cancel", params={"session_id": run.session})
            yield "response to cancel", f"HTTP {answer.status_code}"
            done = await self.settled(run)
            yield "stored as", stored(done)
            seen, _ = await self.resume(run, run.last)
            names = [event["event"] for event in data(seen)]
            yield "the stream's last events", ", ".join(f"`{name}`" for name in names[-2:])
            again = await http.post(f"{run.path}/cancel", params={"session_id": run.session})
            yield "cancel of an ended run", f"HTTP {again.status_code}, then {stored(await self.look(run))}"
            unknown = await http.post(f"{LAB}/runs/{uuid.uuid4()}/cancel")
            yield "cancel of an unknown run", f"HTTP {unknown.status_code}"

    async def after(self):
        """The client reconnects after the end"""
        run = await self.begin("text 30", 8)
        await self.settled(run)
        seen, end = await self.resume(run, run.last)
        yield "same process", f"{heard(seen, end)}; {together(run.seen, seen, 30)}"
        seen, end = await self.resume(run, 100_000)
        yield "from an index beyond the end", heard(seen, end)
        await self.restart()
        seen, end = await self.resume(run, run.last)
        yield "after a restart of the server", f"{heard(seen, end)}; {together(run.seen, seen, 30)}"
        nobody = Run([], LAB, run.session, f"no-{uuid.uuid4()}")
        seen, end = await self.resume(nobody)
        yield "an unknown run", heard(seen, end)


# Of 64 KB each.
PIECES = 320
RUNS_BEFORE = 3


class Run:
    def __init__(self, seen, component, session, run=None):
        self.seen, self.session = seen, session
        self.path = f"{component}/runs/{run or next((event['run_id'] for event in seen if event.get('run_id')), 'none')}"
        self.last = next((event["event_index"] for event in reversed(seen) if "event_index" in event), None)


# How it is said


def data(seen):
    return [event for event in seen if event.get("event") not in META]


def heard(seen, end):
    """Meta events, then what came; and how it ended, unless the server just closed the stream."""
    if not seen and end == CLOSED:
        return "HTTP 200 and an empty stream"
    about_it = [f"`{event['event']}`{about(event)}" for event in seen if event.get("event") in META]
    parts = [", ".join(about_it), tail(seen), "" if end == CLOSED else end]
    return "; ".join(part for part in parts if part)


def about(event):
    text = event.get("error") or (event.get("message") if event["event"] == "replay" else None)
    text = re.sub(r"\b(run_\w+|no-[\w-]+|[0-9a-f]{8}-[\w-]+)", "ID", text or "")
    return f" “{text}”" if text else ""


def tail(seen):
    events = data(seen)
    if not events:
        return "no event"
    last = events[-1]
    text = last.get("content") if last["event"].endswith("Error") else None
    count = "1 event" if len(events) == 1 else f"{len(events)} events, the last"
    return f"{count} `{last['event']}`" + (f" “{text}”" if text else "")


def numbering(seen):
    indices = [event.get("event_index") for event in data(seen)]
    if all(index is None for index in indices):
        return "no `event_index`"
    whole = [index for index in indices if index is not None]
    gapless = len(whole) == len(indices) and whole == list(range(whole[0], whole[0] + len(whole)))
    return "indices without gaps" if gapless else f"indices {whole}, {len(indices) - len(whole)} events without one"


def stored(run):
    return f"`{run['status']}`"


def said(text):
    return len(re.findall(r"\[\d+\]", str(text or "")))


def together(before, after, count):
    """Whether both parts are the whole."""
    pieces = [
        int(number)
        for event in data(before) + data(after)
        if event["event"] == "RunContent"
        for number in re.findall(r"\[(\d+)\]", str(event.get("content")))
    ]
    if pieces == list(range(count)):
        return f"all {count} pieces, each once"
    missing, doubled = count - len(set(pieces)), len(pieces) - len(set(pieces))
    return f"{missing} of {count} pieces missing" + (f", {doubled} twice" if doubled else "")


async def main(url, pid, resuming=None):
    observer = Observer(url, int(pid), f"/agents/{resuming}" if resuming else None)
    scenes = ("throw", "unserializable", "disconnect", "restarted", "second", "slow", "cancel", "after")
    for scene in (getattr(Observer, name) for name in scenes):
        try:
            async for label, value in scene(observer):
                print(json.dumps({"scene": scene.__doc__, "label": label, "value": value}), flush=True)
        except Exception as problem:
            said_of = f"the client fails: {type(problem).__name__}: {problem}"
            print(json.dumps({"scene": scene.__doc__, "label": "", "value": said_of}), flush=True)


asyncio.run(main(*sys.argv[1:]))
