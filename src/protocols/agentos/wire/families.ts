/** The three families of AgentOS, as a table: one code path serves agents, teams and workflows, and this says what each is called. */
import type { ComponentKind } from '../../../core/ports/component.ts'
import type { RunStatus } from '../../../core/model/run.ts'

export interface Family {
  readonly kind: ComponentKind
  /** First segment of its paths. */
  readonly path: 'agents' | 'teams' | 'workflows'
  /** In messages for people: `Agent not found`. */
  readonly title: string
  /** Before the names of events that agents and teams share. */
  readonly prefix: '' | 'Team'
  readonly idField: 'agent_id' | 'team_id' | 'workflow_id'
  readonly nameField: 'agent_name' | 'team_name' | 'workflow_name'
  readonly events: LifecycleNames
  /** Where an error event has its message. */
  readonly errorField: 'content' | 'error'
  /** Form field by which a paused run is answered. */
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

/** What AgentOS calls the state of a run. A run that refused its task has failed, for those who only know these words. */
export const statusNames: Readonly<Record<RunStatus, string>> = {
  queued: 'PENDING',
  running: 'RUNNING',
  paused: 'PAUSED',
  completed: 'COMPLETED',
  failed: 'ERROR',
  rejected: 'ERROR',
  cancelled: 'CANCELLED',
}

/** The states that have any of these names. */
export function statusesNamed(names: readonly string[]): readonly RunStatus[] {
  return (Object.keys(statusNames) as RunStatus[]).filter((status) => names.includes(statusNames[status]))
}
