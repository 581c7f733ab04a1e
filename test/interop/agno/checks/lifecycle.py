"""Runs in the background: accepted with 202, polled to their end, cancelled."""

import asyncio
import uuid

from .wire import FAMILIES, client, expect, expect_whole

# Of this run of the checks alone.
SESSION = f"background-{uuid.uuid4()}"
TERMINAL = ("COMPLETED", "CANCELLED", "ERROR")


async def accept(http, path, component, message):
    form = {"message": message, "background": "true", "stream": "false", "session_id": f"{SESSION}-{component}"}
    response = await http.post(f"/{path}/{component}/runs", data=form)
    expect(response.status_code == 202, f"answered with {response.status_code}: {response.text}")
    accepted = response.json()
    expect(accepted["status"] == "PENDING", f"its status is {accepted['status']}")
    return accepted["run_id"], accepted["session_id"]


async def poll(http, path, component, run, session):
    while True:
        response = await http.get(f"/{path}/{component}/runs/{run}", params={"session_id": session})
        response.raise_for_status()
        if response.json()["status"] in TERMINAL:
            return response.json()
        await asyncio.sleep(0.1)


async def check_background(url):
    """a background run of each family is accepted as PENDING and polled until it is COMPLETED"""
    async with client(url) as http:
        for path, component, _ in FAMILIES.values():
            run, session = await accept(http, path, component, "text 10 every 10")
            done = await poll(http, path, component, run, session)
            expect(done["status"] == "COMPLETED", f"{component} ended as {done['status']}")
            expect_whole(done["content"], 10)


async def check_background_cancel(url):
    """a background run of each family that is cancelled is CANCELLED when it is polled"""
    async with client(url) as http:
        for path, component, _ in FAMILIES.values():
            run, session = await accept(http, path, component, "text 3; hang")
            answer = await http.post(f"/{path}/{component}/runs/{run}/cancel", params={"session_id": session})
            answer.raise_for_status()
            done = await poll(http, path, component, run, session)
            expect(done["status"] == "CANCELLED", f"{component} ended as {done['status']}")


async def check_listed(url):
    """the runs of a session are listed, and filtered by status"""
    async with client(url) as http:
        params = {"session_id": f"{SESSION}-lab"}
        listed = (await http.get("/agents/lab/runs", params=params)).json()
        statuses = sorted(run["status"] for run in listed)
        expect(statuses == ["CANCELLED", "COMPLETED"], f"they are {statuses}")
        done = (await http.get("/agents/lab/runs", params={**params, "status": "COMPLETED"})).json()
        expect([run["status"] for run in done] == ["COMPLETED"], "the filter lets others through")
