"""Streams that are cut and resumed, as agno's reconnection clients do it, for each family."""

import asyncio
import json
import sys

from .wire import FAMILIES, data_of, expect, expect_whole, indices_of, metas_of, read, text_of

EVENTS_BEFORE_CUT = 6
AWAY_SECONDS = 0.4


async def begin(url, family, script, events=EVENTS_BEFORE_CUT):
    """Starts a background stream and leaves after a few events; where to find it again, and what was seen."""
    path, component, _ = FAMILIES[family]
    form = {"message": script, "stream": "true", "background": "true"}
    seen = await read(url, f"/{path}/{component}/runs", form, lambda seen: len(seen) >= events)
    run, session = seen[0]["run_id"], seen[0]["session_id"]
    return f"/{path}/{component}/runs/{run}/resume", session, seen


async def resume(url, path, session, seen):
    form = {"last_event_index": str(seen[-1]["event_index"]), "session_id": session}
    return await read(url, path, form)


def expect_contiguous(before, after, what):
    indices = indices_of(before) + indices_of(after)
    expect(indices == list(range(len(indices))), f"{what}: the indices are {indices}")


async def reconnect(url, family):
    path, session, before = await begin(url, family, "text 60 every 20")
    await asyncio.sleep(AWAY_SECONDS)
    after = await resume(url, path, session, before)
    expect(metas_of(after) == ["catch_up", "subscribed"], f"the metas are {metas_of(after)}")
    expect_contiguous(before, after, family)
    expect_whole(text_of(before + after), 60)
    last = after[-1]["event"]
    expect(last == f"{FAMILIES[family][2]}Completed", f"it ended with {last}")


async def check_agent(url):
    """an agent's stream that is cut goes on at the next index, and nothing is lost or doubled"""
    await reconnect(url, "agent")


async def check_team(url):
    """a team's stream that is cut goes on at the next index, and nothing is lost or doubled"""
    await reconnect(url, "team")


async def check_workflow(url):
    """a workflow's stream that is cut goes on at the next index, and nothing is lost or doubled"""
    await reconnect(url, "workflow")


async def check_after_the_end(url):
    """a run that ended meanwhile is replayed from the next index"""
    path, session, before = await begin(url, "agent", "text 20 every 5")
    form = {"last_event_index": "-1", "session_id": session}
    await read(url, path, form)  # to its end
    after = await resume(url, path, session, before)
    expect(metas_of(after) == ["replay"] and after[0]["status"] == "COMPLETED", f"it began with {after[0]}")
    expect(after[0]["total_events"] == len(after) - 1, "it says another number of events")
    expect_contiguous(before, after, "replay")
    again = await resume(url, path, session, after)
    expect(data_of(again) == [] and again[0]["total_events"] == 0, "whoever has everything gets something")


async def check_error_is_replayed(url):
    """the error of a failed run of each family reaches a client that was away when it happened"""
    for family, (_, _, prefix) in FAMILIES.items():
        path, session, before = await begin(url, family, "text 5; sleep 300; throw boom", 3)
        await asyncio.sleep(AWAY_SECONDS + 0.3)
        after = await resume(url, path, session, before)
        expect_contiguous(before, after, family)
        expect(after[-1]["event"] == f"{prefix}Error", f"{family} ended with {after[-1]}")


async def check_second_subscriber(url):
    """a second client that comes later gets the same events as the first"""
    path, session, before = await begin(url, "agent", "text 60 every 20")
    form = {"last_event_index": "-1", "session_id": session}
    first, second = await asyncio.gather(read(url, path, form), read(url, path, form))
    expect(data_of(first) == data_of(second), "they differ")
    expect(data_of(first)[: len(before)] == before, "they begin differently from what was seen live")


async def check_foreground(url):
    """a foreground stream that is cut can be resumed too, and its run was not stopped"""
    form = {"message": "text 60 every 20", "stream": "true"}
    before = await read(url, "/agents/lab/runs", form, lambda seen: len(seen) >= EVENTS_BEFORE_CUT)
    path = f"/agents/lab/runs/{before[0]['run_id']}/resume"
    after = await resume(url, path, before[0]["session_id"], before)
    expect_contiguous(before, after, "foreground")
    expect(after[-1]["event"] == "RunCompleted", f"it ended with {after[-1]['event']}")


async def check_restart(url):
    """a server that is killed with -9 and started again goes on with the run, and the client with its stream"""
    path, session, before = await begin(url, "workflow", "text 40 every 50")
    print(json.dumps({"restart": True}), flush=True)
    answer = await asyncio.to_thread(sys.stdin.readline)
    expect(answer.startswith("restarted"), "the server was not restarted")
    after = await resume(url, path, session, before)
    expect_contiguous(before, after, "restart")
    expect_whole(text_of(before + after), 40)
    expect(after[-1]["event"] == "WorkflowCompleted", f"it ended with {after[-1]['event']}")
