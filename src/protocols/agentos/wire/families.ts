/** The three families of AgentOS: agents, teams and workflows share one code path; this table has their names. */
import type { ComponentKind } from '../../../core/ports/component.ts'
import { isFinished, type RunStatus } from '../../../core/model/run.ts'

export interface Family {
  readonly kind: ComponentKind
  /** First segment of its paths. */
  readonly path: 'agents' | 'teams' | 'workflows'
  /** For error messages: `Agent not found`. */
  readonly title: string
  /** Prefix of event names that agents and teams share. */
  readonly prefix: '' | 'Team'
  readonly idField: 'agent_id' | 'team_id' | 'workflow_id'
  readonly nameField: 'agent_name' | 'team_name' | 'workflow_name'
  readonly events: LifecycleNames
  /** Field of an error event's message. */
  readonly errorField: 'content' | 'error'
  /** Form field with the answers to a paused run. */
  readonly answerField: 'tools' | 'requirements' | 'step_requirements'
}

export interface LifecycleNames {
  readonly started: string
  readonly completed: string
  readonly failed: string
  readonly cancelled: string
  readonly paused: string
}

export const families: Readonly<Record<ComponentKind, Family>> = {
  agent: {
    kind: 'agent',
    path: 'agents',
    title: 'Agent',
    prefix: '',
    idField: 'agent_id',
    nameField: 'agent_name',
    events: {
      started: 'RunStarted',
      completed: 'RunCompleted',
      failed: 'RunError',
      cancelled: 'RunCancelled',
      paused: 'RunPaused',
    },
    errorField: 'content',
    answerField: 'tools',
  },
  team: {
    kind: 'team',
    path: 'teams',
    title: 'Team',
    prefix: 'Team',
    idField: 'team_id',
    nameField: 'team_name',
    events: {
      started: 'TeamRunStarted',
      completed: 'TeamRunCompleted',
      failed: 'TeamRunError',
      cancelled: 'TeamRunCancelled',
      paused: 'TeamRunPaused',
    },
    errorField: 'content',
    answerField: 'requirements',
  },
  workflow: {
    kind: 'workflow',
    path: 'workflows',
    title: 'Workflow',
    prefix: '',
    idField: 'workflow_id',
    nameField: 'workflow_name',
    events: {
      started: 'WorkflowStarted',
      completed: 'WorkflowCompleted',
      failed: 'WorkflowError',
      cancelled: 'WorkflowCancelled',
      paused: 'WorkflowPaused',
    },
    errorField: 'error',
    answerField: 'step_requirements',
  },
}

/** Run statuses in AgentOS. It has no status for a rejected run, so it counts as failed. */
export const statusNames: Readonly<Record<RunStatus, string>> = {
  queued: 'PENDING',
  running: 'RUNNING',
  paused: 'PAUSED',
  completed: 'COMPLETED',
  failed: 'ERROR',
  rejected: 'ERROR',
  cancelled: 'CANCELLED',
}

/** Status of a run whose response was regenerated. */
const REPLACED = 'REGENERATED'

export function statusName(status: RunStatus, replaced: boolean): string {
  return replaced ? REPLACED : statusNames[status]
}

/** Statuses by AgentOS name. */
export function statusesNamed(names: readonly string[]): readonly RunStatus[] {
  const isNamed = (status: RunStatus): boolean =>
    names.includes(statusNames[status]) || (names.includes(REPLACED) && isFinished(status))
  return (Object.keys(statusNames) as RunStatus[]).filter(isNamed)
}
