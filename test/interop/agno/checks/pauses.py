"""Runs that wait for somebody: continued with the objects that agno's clients send back."""

import json

from agno.client import AgentOSClient
from agno.run.base import RunStatus

from .library import collect
from .wire import client, expect, indices_of, read


async def paused(url):
    run = await AgentOSClient(base_url=url).run_agent("clerk", "Send Ada 25 euros")
    expect(run.is_paused, f"its status is {run.status}")
    waiting = [tool for tool in run.tools if tool.requires_confirmation]
    expect([tool.tool_name for tool in waiting] == ["send"], f"it waits for {waiting}")
    return run


async def check_confirm(url):
    """a tool that needs a yes is executed when the library sends one"""
    run = await paused(url)
    for tool in run.tools:
        tool.confirmed = True
    done = await AgentOSClient(base_url=url).continue_agent_run("clerk", run.run_id, run.tools, session_id=run.session_id)
    expect(done.status == RunStatus.completed and done.run_id == run.run_id, f"its status is {done.status}")
    expect("25" in done.content, f"it said {done.content!r}")


async def check_refuse(url):
    """a tool that needs a yes is not executed when the library sends a no, and the stream tells it"""
    run = await paused(url)
    for tool in run.tools:
        tool.confirmed = not tool.requires_confirmation
    stream = AgentOSClient(base_url=url).continue_agent_run_stream
    events = await collect(stream("clerk", run.run_id, run.tools, session_id=run.session_id))
    expect(events[0].event == "RunContinued", f"it began with {events[0].event}")
    expect(events[-1].content.endswith("I have sent nothing."), f"it said {events[-1].content!r}")


async def check_requirements(url):
    """the requirements of a paused run can be resolved with the library's own methods"""
    run = await paused(url)
    expect(run.active_requirements, "it has no requirements")
    for requirement in run.active_requirements:
        expect(requirement.needs_confirmation, "it does not need confirmation")
        requirement.confirm()
    tools = [requirement.tool_execution for requirement in run.requirements]
    done = await AgentOSClient(base_url=url).continue_agent_run("clerk", run.run_id, tools, session_id=run.session_id)
    expect(done.status == RunStatus.completed, f"its status is {done.status}")


async def check_continued_stream(url):
    """a continued run that streams in the background is cut and resumed without a gap"""
    form = {"message": "Send Ada 25 euros", "stream": "true"}
    first = await read(url, "/agents/clerk/runs", form, lambda seen: seen[-1]["event"] == "RunPaused")
    tools = [{**tool, "confirmed": True} for tool in first[-1]["tools"]]
    expect(tools, "the pause names no tool")
    run, session = first[-1]["run_id"], first[-1]["session_id"]
    answer = {"tools": json.dumps(tools), "session_id": session, "stream": "true", "background": "true"}
    path = f"/agents/clerk/runs/{run}"
    continued = await read(url, f"{path}/continue", answer, lambda seen: len(seen) >= 2)
    form = {"last_event_index": str(continued[-1]["event_index"]), "session_id": session}
    rest = await read(url, f"{path}/resume", form)
    indices = indices_of(first) + indices_of(continued) + indices_of(rest)
    expect(indices == list(range(len(indices))), f"the indices are {indices}")
    expect(rest[-1]["event"] == "RunCompleted", f"it ended with {rest[-1]['event']}")


async def check_confirm_nothing(url):
    """an empty list of tools, as an older client sends it, continues the run and confirms nothing"""
    run = await paused(url)
    form = {"tools": "[]", "session_id": run.session_id, "stream": "false"}
    async with client(url) as http:
        done = (await http.post(f"/agents/clerk/runs/{run.run_id}/continue", data=form)).json()
    expect(done.get("status") == "COMPLETED", f"it was answered with {done}")
    expect("nothing" in done["content"], f"it said {done['content']!r}")


async def check_workflow(url):
    """a workflow whose step waits for an answer is continued with its requirements"""
    agentos = AgentOSClient(base_url=url)
    run = await agentos.run_workflow("lab-workflow", "text 2; ask Shall I go on?; text 2")
    expect(run.is_paused, f"its status is {run.status}")
    expect(run.step_requirements, "it has no requirements")
    requirements = [requirement.to_dict() for requirement in run.step_requirements]
    for requirement in requirements:
        for inner in requirement.get("executor_requirements") or []:
            inner["user_input_schema"] = [{**field, "value": "yes"} for field in inner["user_input_schema"]]
    done = await agentos.continue_workflow_run("lab-workflow", run.run_id, requirements, session_id=run.session_id)
    expect(done.status == RunStatus.completed, f"its status is {done.status}")


async def check_team(url):
    """a team whose member asks is continued with its requirements"""
    agentos = AgentOSClient(base_url=url)
    events = await collect(agentos.run_team_stream("lab-team", "text 2; ask Shall I go on?; text 2"))
    expect(events[-1].event == "TeamRunPaused", f"it ended with {events[-1].event}")
    requirements = events[-1].requirements
    expect(requirements, "it has no requirements")
    for requirement in requirements:
        requirement.provide_user_input({"answer": "yes"})
    team = agentos.continue_team_run_stream("lab-team", events[-1].run_id, requirements, session_id=events[-1].session_id)
    rest = await collect(team)
    expect(rest[-1].event == "TeamRunCompleted", f"it ended with {rest[-1].event}")
