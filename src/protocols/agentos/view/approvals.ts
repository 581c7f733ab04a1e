/** Approvals: questions of runs whether a tool may be called. The log has them all, so none are stored. */
import type { Question } from '../../../core/model/event.ts'
import type { Run } from '../../../core/model/run.ts'
import type { Component } from '../../../core/ports/component.ts'
import type { Projection } from '../../../core/ports/projection.ts'
import { families, statusNames } from '../wire/families.ts'
import { factsOf } from '../wire/requirements.ts'
import { ownMetadata, shownRunId } from '../wire/run-id.ts'
import { secondsOf } from './state.ts'

export interface Approval {
  readonly question: Question
  readonly askedAt: string
  readonly status: 'pending' | 'approved' | 'rejected' | 'cancelled'
  readonly resolvedAt?: string
  readonly resolvedBy?: string
}

/** All approvals that a run has asked for, oldest first. */
export const approvalsProjection: Projection<readonly Approval[], never> = {
  initial: () => [],
  apply: (state, event) => {
    switch (event.type) {
      case 'run.paused':
        return { state: [...state, ...askedIn(state, event.data.questions, event.time)], frames: [] }
      case 'run.resumed': {
        const { answers, by } = event.data
        const resolved = (approval: Approval): Approval => ({
          ...approval,
          status: isApproved(answers[approval.question.id]) ? 'approved' : 'rejected',
          resolvedAt: event.time,
          ...(by !== undefined && { resolvedBy: by }),
        })
        const isAnswered = ({ status, question }: Approval): boolean =>
          status === 'pending' && Object.hasOwn(answers, question.id)
        return { state: state.map((each) => (isAnswered(each) ? resolved(each) : each)), frames: [] }
      }
      case 'run.completed':
      case 'run.failed':
      case 'run.cancelled': {
        const end = (each: Approval): Approval => (each.status === 'pending' ? { ...each, status: 'cancelled' } : each)
        return { state: state.map(end), frames: [] }
      }
      default:
        return { state, frames: [] }
    }
  },
}

/** The list of a pause repeats questions that are still open. */
function askedIn(known: readonly Approval[], questions: readonly Question[], askedAt: string): Approval[] {
  const ids = new Set(known.map(({ question }) => question.id))
  return questions
    .filter((question) => question.kind === 'approval' && !ids.has(question.id))
    .map((question) => ({ question, askedAt, status: 'pending' }))
}

function isApproved(answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null) return answer === true
  return 'approved' in answer && answer.approved === true
}

/** What a paused run waits for. */
export function pendingOf({ waiting = [], updatedAt }: Run): readonly Approval[] {
  return askedIn([], waiting, updatedAt)
}

/** Names the run and the question, in characters that clients put into paths unescaped. */
function approvalId(run: Run, { id }: Question): string {
  return Buffer.from(JSON.stringify([run.id, id])).toString('base64url')
}

/** The run and the question that an id names; undefined for other texts. */
export function approvalNamed(id: string): { readonly run: string; readonly question: string } | undefined {
  try {
    const [run, question, ...rest] = JSON.parse(Buffer.from(id, 'base64url').toString()) as unknown[]
    if (typeof run === 'string' && typeof question === 'string' && rest.length === 0) return { run, question }
  } catch {
    // Not an id of ours.
  }
  return undefined
}

export function shownApproval(component: Component | undefined, run: Run, approval: Approval): object {
  const { question, askedAt, status, resolvedAt, resolvedBy } = approval
  const { tool, input } = factsOf(question)
  const { kind, idField } = families[component?.kind ?? 'agent']
  const { user_id: user } = ownMetadata(run.metadata)
  const deadline = question.deadline === undefined ? null : secondsOf(question.deadline)
  return {
    id: approvalId(run, question),
    run_id: shownRunId(run),
    session_id: run.session,
    status,
    source_type: kind,
    source_name: component?.name ?? run.component,
    [idField]: run.component,
    approval_type: 'required',
    pause_type: 'confirmation',
    tool_name: typeof tool === 'string' ? tool : null,
    tool_args: typeof input === 'object' ? input : null,
    expires_at: deadline,
    user_id: typeof user === 'string' ? user : null,
    context: { prompt: question.prompt },
    resolved_by: resolvedBy ?? null,
    resolved_at: resolvedAt === undefined ? null : secondsOf(resolvedAt),
    created_at: secondsOf(askedAt),
    updated_at: secondsOf(resolvedAt ?? askedAt),
    run_status: statusNames[run.status],
  }
}
