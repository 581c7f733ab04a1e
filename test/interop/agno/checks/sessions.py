"""Sessions through AgentOSClient: made, listed, read, renamed, changed, removed."""

import uuid

from agno.client import AgentOSClient
from agno.db.base import SessionType
from httpx import HTTPStatusError

from .wire import expect, expect_whole

KINDS = (
    (SessionType.AGENT, "agent_id", "lab", "run_agent"),
    (SessionType.TEAM, "team_id", "lab-team", "run_team"),
    (SessionType.WORKFLOW, "workflow_id", "lab-workflow", "run_workflow"),
)


async def check_life(url):
    """a session of each family is made, used, listed, read, renamed, changed and removed"""
    client = AgentOSClient(base_url=url)
    for kind, field, component, run in KINDS:
        user = f"user-{uuid.uuid4()}"
        made = await client.create_session(session_type=kind, user_id=user, session_name="First", **{field: component})
        expect(made.session_name == "First" and getattr(made, field) == component, f"it is {made}")
        await getattr(client, run)(component, "text 3", session_id=made.session_id, user_id=user)
        listed = await client.get_sessions(session_type=kind, component_id=component, user_id=user)
        expect([session.session_id for session in listed.data] == [made.session_id], f"{kind}: {listed.data}")
        expect(listed.meta.total_count == 1, f"it counts {listed.meta.total_count}")
        await expect_runs(client, made.session_id, kind)
        renamed = await client.rename_session(made.session_id, "Second", session_type=kind, user_id=user)
        expect(renamed.session_name == "Second", f"it is called {renamed.session_name}")
        changed = await client.update_session(made.session_id, session_type=kind, session_state={"a": 1}, metadata={"b": 2})
        expect(changed.session_state == {"a": 1} and changed.metadata == {"b": 2}, f"it is {changed}")
        await client.delete_session(made.session_id, user_id=user)
        await expect_gone(client, made.session_id)


async def expect_runs(client, session, kind):
    detail = await client.get_session(session, session_type=kind)
    expect(detail.session_id == session and detail.created_at, "its detail is of another session")
    runs = await client.get_session_runs(session, session_type=kind)
    expect(len(runs) == 1, f"its runs are {runs}")
    expect_whole(runs[0].content, 3)
    expect(runs[0].status == "COMPLETED", f"its run is {runs[0].status}")
    one = await client.get_session_run(session, runs[0].run_id, session_type=kind)
    expect(one.run_id == runs[0].run_id, "another run was found")
    if hasattr(client, "aget_session_run_previews"):  # agno 3
        previews = await client.aget_session_run_previews(session, session_type=kind, status=["completed"])
        expect([preview.run_id for preview in previews] == [one.run_id], f"its previews are {previews}")


async def expect_gone(client, session):
    try:
        await client.get_session(session)
    except HTTPStatusError as error:
        expect(error.response.status_code == 404, f"answered with {error.response.status_code}")
    else:
        raise AssertionError(f"{session} is still there")


async def check_pages(url):
    """sessions are listed in pages, and several are removed at once"""
    client = AgentOSClient(base_url=url)
    user = f"user-{uuid.uuid4()}"
    made = [await client.create_session(agent_id="lab", user_id=user, session_name=f"n{n}") for n in range(3)]
    ids = [session.session_id for session in made]
    pages = [await client.get_sessions(user_id=user, limit=2, page=page) for page in (1, 2)]
    expect(pages[0].meta.total_pages == 2 and pages[0].meta.total_count == 3, f"the pages are {pages[0].meta}")
    seen = [session.session_id for page in pages for session in page.data]
    expect(sorted(seen) == sorted(ids), f"they are {seen}")
    await client.delete_sessions(ids, [SessionType.AGENT] * len(ids), user_id=user)
    expect((await client.get_sessions(user_id=user)).data == [], "some are still there")
