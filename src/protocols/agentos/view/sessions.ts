/** Sessions in AgentOS format, and this protocol's part of the session document. */
import type { Component, ComponentKind } from '../../../core/ports/component.ts'
import { type Document, SESSIONS } from '../../../core/model/document.ts'
import { isHoldfastError } from '../../../core/model/errors.ts'
import type { Usage } from '../../../core/model/event.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { OwnedDraft } from '../../../core/sessions/owned-documents.ts'
import { forkOrigin } from '../../../core/sessions/session-fork.ts'
import { families } from '../wire/families.ts'
import { messagesOf } from './messages.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import { tokensOf, sum } from './project-content.ts'
import { noSession, type RunExcerpts } from './session-runs.ts'
import { rootOf, type State } from './state.ts'

/** This protocol's fields; other protocols have their own. */
export interface SessionFacts {
  readonly user_id?: string
  readonly session_state?: unknown
  readonly metadata?: unknown
  readonly session_summary?: unknown
  /** Valid until the first run determines it. */
  readonly type?: ComponentKind
}

export function factsOf({ body }: Document): SessionFacts {
  return ((body ?? {}) as { agentos?: SessionFacts }).agentos ?? {}
}

export type SessionDraft = Pick<OwnedDraft, 'label' | 'title'> & { readonly facts: SessionFacts }

/** Changes a session, which must exist. */
export async function changeSession(
  os: AgentOs,
  principal: Principal,
  id: string,
  change: (known: Document) => SessionDraft | undefined,
): Promise<Document> {
  const changed = await os.service.documents(principal).update(SESSIONS, id, (known) => {
    const draft = change(known)
    if (draft === undefined) return undefined
    const { facts, ...rest } = draft
    return { ...rest, body: { ...(known.body as object | null), agentos: facts } }
  })
  if (changed === undefined) throw noSession()
  return changed
}

/** Default name and user of a session come from its first message. */
export async function noteStart(
  os: AgentOs,
  principal: Principal,
  id: string,
  message: string,
  userId: string | undefined,
): Promise<void> {
  const changing = changeSession(os, principal, id, (known) => {
    const facts = factsOf(known)
    const named = known.title !== undefined
    const owned = facts.user_id !== undefined || userId === undefined
    if (named && owned) return undefined
    return {
      facts: { ...facts, ...(!owned && { user_id: userId }) },
      ...(!named && { title: titleOf(message) || id }),
    }
  })
  await changing.catch((cause: unknown) => {
    if (!isHoldfastError(cause, 'not_found')) throw cause // it was deleted meanwhile
  })
}

const TITLE_CHARS_MAX = 100

/** The start of a message, without characters that stores reject. */
function titleOf(message: string): string {
  return message.trim().slice(0, TITLE_CHARS_MAX).replaceAll('\0', '').toWellFormed()
}

/** A session's family: that of its first run's component. */
export function familyOf(os: AgentOs, document: Document): ComponentKind {
  return componentOf(os, document)?.kind ?? factsOf(document).type ?? 'agent'
}

function componentOf(os: AgentOs, { label }: Document): Component | undefined {
  return os.service.components().find(({ id }) => id === label)
}

/** A list item. */
export function sessionSummary(os: AgentOs, document: Document): Readonly<Record<string, unknown>> {
  const { id, title, label, createdAt, updatedAt } = document
  const facts = factsOf(document)
  const family = families[familyOf(os, document)]
  return {
    session_id: id,
    session_name: title ?? id,
    session_type: family.kind,
    ...(label !== undefined && { [family.idField]: label }),
    ...sessionFields(facts),
    ...forkOf(document),
    created_at: createdAt,
    updated_at: updatedAt,
  }
}

/** A run within a session. */
export interface RunExcerpt {
  readonly usage: Usage | undefined
  readonly trimmed: boolean
  readonly messages: readonly object[]
}

/** A replaced run has no messages in its session. */
export function excerptOf(state: State, replaced: boolean): RunExcerpt {
  const root = rootOf(state)
  return {
    usage: root.usage,
    trimmed: state.trimmedBefore !== undefined,
    messages: replaced ? [] : messagesOf(root),
  }
}

/** One session with its conversation. */
export function sessionDetail(os: AgentOs, document: Document, { runs, whole }: RunExcerpts<RunExcerpt>): object {
  const { label } = document
  const kind = familyOf(os, document)
  const usage = runs.map((run) => run.usage).filter((each) => each !== undefined)
  const total = usage.length === 0 ? undefined : usage.reduce((left, right) => sum(left, right))
  const name = componentOf(os, document)?.name ?? label
  return {
    ...sessionSummary(os, document),
    [`${kind}_session_id`]: document.id,
    ...(label !== undefined && { [`${kind}_data`]: { [families[kind].idField]: label, name } }),
    ...(total !== undefined && { metrics: tokensOf(total), total_tokens: total.totalTokens ?? null }),
    ...(runs.some(({ trimmed }) => trimmed) && { events_trimmed: true }),
    ...(!whole && { history_truncated: true }),
    chat_history: runs.flatMap(({ messages }) => messages),
  }
}

function sessionFields({
  user_id: user,
  session_state: state,
  metadata,
  session_summary: summary,
}: SessionFacts): object {
  return {
    ...(user !== undefined && { user_id: user }),
    session_state: state ?? {},
    ...(summary !== undefined && { session_summary: summary }),
    ...(metadata !== undefined && { metadata }),
  }
}

function forkOf(document: Document): object {
  const origin = forkOrigin(document)
  return origin === undefined ? {} : { forked_from_session_id: origin.session }
}
