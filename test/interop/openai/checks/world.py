"""What the checks run in: the servers, what their logs say, and how a result is told."""

import asyncio
import json
import sys

import httpx2

from .either import CLIENTS

SECONDS = 60


def expect(condition, otherwise):
    if not condition:
        raise AssertionError(otherwise)


def say(**line):
    print(json.dumps(line), flush=True)


def passed(title):
    say(title=title, passed=True)


def failed(title, problem):
    say(title=title, passed=False, problem=f"{type(problem).__name__}: {problem}")


class World:
    def __init__(self, url, relay):
        self.url = url
        # The same server, through which each byte of a character comes alone.
        self.relay = relay
        self.http = httpx2.AsyncClient(base_url=url, timeout=SECONDS)

    def client(self, kind, through=None, timeout=SECONDS):
        return CLIENTS[kind](base_url=f"{through or self.url}/v1", api_key="none", max_retries=0, timeout=timeout)

    async def runs(self):
        answer = await self.http.get("/runs", params={"limit": 100})
        return answer.raise_for_status().json()["runs"]

    async def stop(self, run):
        (await self.http.post(f"/runs/{run}/stop")).raise_for_status()

    async def text(self, run):
        """What the component of the run said itself, as its log has it."""
        events, page = [], {"done": False}
        while not page["done"]:
            after = {"after": page["cursor"]} if events else {}
            answer = await self.http.get(f"/runs/{run}/events", params={"format": "json", "wait": 1000, **after})
            page = answer.raise_for_status().json()
            events += page["events"]
        return "".join(e["data"]["text"] for e in events if e["type"] == "text.delta" and "actor" not in e)

    async def wants(self, deed):
        """Has something done to the server by whoever started it."""
        say(wants=deed)
        await asyncio.to_thread(sys.stdin.readline)
        await self.http.aclose()  # its connections are to a server that is gone
        self.http = httpx2.AsyncClient(base_url=self.url, timeout=SECONDS)


async def until(what, found, seconds=SECONDS):
    """Asks again and again; gives what was found."""
    async with asyncio.timeout(seconds) as bound:
        while not bound.expired():
            if result := await found():
                return result
            await asyncio.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")
