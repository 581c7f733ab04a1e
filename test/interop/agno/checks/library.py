"""AgentOSClient: what is there, runs of every family, files, failures, cancelling."""

import asyncio
import logging

from agno.client import AgentOSClient
from agno.media import File, Image
from agno.run.agent import (
    RunCancelledEvent,
    RunCompletedEvent,
    RunContentEvent,
    RunErrorEvent,
    RunStartedEvent,
    ToolCallCompletedEvent,
    ToolCallErrorEvent,
    ToolCallStartedEvent,
)
from agno.run.base import RunStatus
from agno.run.team import RunCompletedEvent as TeamRunCompletedEvent
from agno.run.team import RunErrorEvent as TeamRunErrorEvent
from agno.run.team import RunStartedEvent as TeamRunStartedEvent
from agno.run.workflow import (
    StepCompletedEvent,
    StepStartedEvent,
    WorkflowCompletedEvent,
    WorkflowErrorEvent,
    WorkflowStartedEvent,
)
from agno.utils.log import logger
from httpx import HTTPStatusError

from .wire import expect, expect_whole


class Complaints(logging.Handler):
    """The library logs a frame that it cannot make an event of, and goes on: here that is a defect."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())

    def __enter__(self):
        logger.addHandler(self)
        return self

    def __exit__(self, *_):
        logger.removeHandler(self)
        expect(not self.said, f"the library complained: {self.said}")


async def collect(stream):
    with Complaints():
        return [event async for event in stream]


def said(events):
    return "".join(event.content for event in events if isinstance(event, RunContentEvent) and event.content)


def kinds(events):
    return [type(event) for event in events]


def expect_order(events, *wanted):
    """They are there in this order, whatever comes between them."""
    rest = iter(kinds(events))
    for kind in wanted:
        expect(kind in rest, f"no {kind.__name__} in its place among {[event.event for event in events]}")


async def check_config(url):
    """the configuration names the components of each family, with and without await"""
    client = AgentOSClient(base_url=url)
    for config in (await asyncio.to_thread(client.get_config), await client.aget_config()):
        expect(config.os_id, "it has no id")
        expect({"storyteller", "clerk", "lab"} <= {agent.id for agent in config.agents}, "agents are missing")
        expect({"newsroom", "lab-team"} <= {team.id for team in config.teams}, "teams are missing")
        expect({"publish", "lab-workflow"} <= {flow.id for flow in config.workflows}, "workflows are missing")


async def check_components(url):
    """agents, teams and workflows are listed and described"""
    client = AgentOSClient(base_url=url)
    agents, teams, workflows = await client.list_agents(), await client.list_teams(), await client.list_workflows()
    expect("storyteller" in [agent.id for agent in agents], "the storyteller is not listed")
    expect((await client.aget_agent(agents[0].id)).name == agents[0].name, "its detail has another name")
    expect((await client.aget_team(teams[0].id)).id == teams[0].id, "its detail is of another team")
    expect((await client.aget_workflow(workflows[0].id)).id == workflows[0].id, "its detail is of another workflow")


async def check_run_agent(url):
    """an agent's run is answered with all that it said"""
    run = await AgentOSClient(base_url=url).run_agent("lab", "text 5; usage 7 3", session_id="s-run-agent")
    expect(run.status == RunStatus.completed, f"its status is {run.status}")
    expect_whole(run.content, 5)
    expect(run.run_id and run.session_id == "s-run-agent" and run.agent_id == "lab", "an id is missing")
    expect(run.metrics and run.metrics.total_tokens == 10, f"its metrics are {run.metrics}")


async def check_stream_agent(url):
    """an agent's stream is typed events, from RunStarted to RunCompleted, and says everything once"""
    events = await collect(AgentOSClient(base_url=url).run_agent_stream("lab", "text 20; tool search; text 20"))
    wanted = (RunStartedEvent, RunContentEvent, ToolCallStartedEvent, ToolCallCompletedEvent, RunCompletedEvent)
    expect_order(events, *wanted)
    expect_whole(said(events), 40)
    expect(events[-1].content == said(events), "the end has another content")
    expect(len({event.run_id for event in events}) == 1, "events of one run have several run ids")


async def check_tool_error(url):
    """a tool that fails is told by ToolCallError, and the run goes on"""
    events = await collect(AgentOSClient(base_url=url).run_agent_stream("lab", "tool broken fail; text 2"))
    expect_order(events, ToolCallStartedEvent, ToolCallErrorEvent, RunContentEvent, RunCompletedEvent)


async def check_reasoning_and_custom(url):
    """reasoning, artifacts, state, usage and custom events are all events that the library knows"""
    script = "reason 3; text 2; custom ping; state a; artifact picture 1; usage 3 4; step s"
    events = await collect(AgentOSClient(base_url=url).run_agent_stream("lab", script))
    reasoned = "".join(getattr(event, "reasoning_content", None) or "" for event in events[:-1])
    expect("[2]" in reasoned, f"the reasoning is {reasoned!r}")
    expect("CustomEvent" in [event.event for event in events], "there is no custom event")


async def check_team(url):
    """a team's run and stream have the member's events, with the member's run id"""
    client = AgentOSClient(base_url=url)
    run = await client.run_team("lab-team", "text 3")
    expect(run.status == RunStatus.completed, f"its status is {run.status}")
    expect_whole(run.content, 3)
    events = await collect(client.run_team_stream("lab-team", "text 3"))
    expect_order(events, TeamRunStartedEvent, RunStartedEvent, RunContentEvent, RunCompletedEvent, TeamRunCompletedEvent)
    team = events[0].run_id
    members = [event for event in events if isinstance(event, RunContentEvent)]
    expect(all(event.run_id != team and event.parent_run_id == team for event in members), "a member has wrong ids")


async def check_workflow(url):
    """a workflow's run and stream have its steps, and their tokens"""
    client = AgentOSClient(base_url=url)
    run = await client.run_workflow("lab-workflow", "text 3; usage 7 3")
    expect(run.status == RunStatus.completed, f"its status is {run.status}")
    expect_whole(run.content, 3)
    events = await collect(client.run_workflow_stream("lab-workflow", "text 3; usage 7 3"))
    for metrics in (run.metrics, events[-1].metrics):
        expect([step.metrics.total_tokens for step in metrics.steps.values()] == [10], f"the metrics are {metrics}")
    expect_order(events, WorkflowStartedEvent, StepStartedEvent, StepCompletedEvent, WorkflowCompletedEvent)
    expect_whole(said(events), 3)


async def check_demo_team_and_workflow(url):
    """the team and the workflow of the demo run to their ends, with a stream and without"""
    client = AgentOSClient(base_url=url)
    team, workflow, *answers = await asyncio.gather(
        collect(client.run_team_stream("newsroom", "the tide")),
        collect(client.run_workflow_stream("publish", "kelp")),
        client.run_team("newsroom", "the tide"),
        client.run_workflow("publish", "kelp"),
    )
    expect(all(run.status == RunStatus.completed for run in answers), f"they ended as {answers}")
    expect(isinstance(team[-1], TeamRunCompletedEvent), f"the team ended with {team[-1].event}")
    expect(isinstance(workflow[-1], WorkflowCompletedEvent), f"the workflow ended with {workflow[-1].event}")


async def check_errors(url):
    """a run that throws ends in the error event of its family, and is never completed"""
    client = AgentOSClient(base_url=url)
    for events, error in (
        (await collect(client.run_agent_stream("lab", "text 2; throw boom")), RunErrorEvent),
        (await collect(client.run_team_stream("lab-team", "text 2; throw boom")), TeamRunErrorEvent),
        (await collect(client.run_workflow_stream("lab-workflow", "text 2; throw boom")), WorkflowErrorEvent),
    ):
        expect(isinstance(events[-1], error), f"it ended with {events[-1].event}")
        expect(events[-1].run_id and events[-1].session_id, "the last event has no ids")


async def check_failed_answer(url):
    """a failed run without a stream has the status ERROR"""
    run = await AgentOSClient(base_url=url).run_agent("lab", "text 2; throw boom")
    expect(run.status == RunStatus.error, f"its status is {run.status}")
    expect("boom" in str(run.content), f"its content is {run.content!r}")


async def check_unserializable(url):
    """what cannot be serialized ends the run with an error that names it, and the stream closes cleanly"""
    events = await collect(AgentOSClient(base_url=url).run_agent_stream("lab", "text 2; circular; text 2"))
    expect(isinstance(events[-1], RunErrorEvent), f"it ended with {events[-1].event}")
    expect("data.value.value" in events[-1].content, f"it says {events[-1].content!r}")


async def check_cancel(url):
    """cancelling ends the stream of an agent, of a team and of a workflow, and says so"""
    client = AgentOSClient(base_url=url)
    for family, stream, cancel in (
        ("lab", client.run_agent_stream, client.cancel_agent_run),
        ("lab-team", client.run_team_stream, client.cancel_team_run),
        ("lab-workflow", client.run_workflow_stream, client.cancel_workflow_run),
    ):
        names = []
        async for event in stream(family, "text 3; hang"):
            names.append(event.event)
            if len(names) == 1:
                await cancel(family, event.run_id)
        expect(any(name.endswith("Cancelled") for name in names), f"{family} was not cancelled: {names}")


async def check_media(url):
    """images and files that the library sends as JSON arrive"""
    client = AgentOSClient(base_url=url)
    image = Image(content=b"\x89PNG not really", mime_type="image/png")
    file = File(content=b"a,b\n1,2\n", mime_type="text/csv", filename="table.csv")
    run = await client.run_agent("clerk", "look", images=[image], files=[file])
    expect(run.status in (RunStatus.completed, RunStatus.paused), f"its status is {run.status}")


async def check_unknown(url):
    """what is not there is 404, as the library expects it"""
    client = AgentOSClient(base_url=url)
    for call in (client.aget_agent("nobody"), client.run_agent("nobody", "x"), client.get_session("no-session"), client.list_memories()):
        try:
            await call
        except HTTPStatusError as error:
            expect(error.response.status_code == 404, f"answered with {error.response.status_code}")
            expect("detail" in error.response.json(), "the answer has no detail")
        else:
            raise AssertionError("something was found")
