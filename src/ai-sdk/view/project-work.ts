/** Projects steps and called components, as data parts that are updated in place. Their outputs are not repeated. */
import type { LoggedEventOf } from '../../core/model/event.ts'
import type { ChatWriter } from './chat-writer.ts'
import { actorName } from '../../core/structure/question-tool-call.ts'
import type { OpenWork, WorkData } from './state.ts'

type Started = LoggedEventOf<'step.started' | 'actor.started'>
type Ended = LoggedEventOf<`step.${'completed' | 'failed' | 'skipped'}` | `actor.${'completed' | 'failed'}`>

export function startWork(writer: ChatWriter, event: Started): void {
  // A model request is not shown as a step: its text and tool calls are shown instead.
  if (event.type === 'step.started' && event.data.kind === 'model') return
  const { step } = writer.state.work.get(idOf(event)) ?? writer.state
  show(writer, event, { step, data: dataOf(event) })
}

export function endWork(writer: ChatWriter, event: Ended): void {
  const open = writer.state.work.get(idOf(event))
  if (open === undefined) return
  const { error, reason } = event.data as Partial<
    LoggedEventOf<'step.failed'>['data'] & LoggedEventOf<'step.skipped'>['data']
  >
  const end = { ...(error !== undefined && { error: error.message }), ...(reason !== undefined && { reason }) }
  show(writer, event, { ...open, data: { ...open.data, state: STATES[event.type], ...end } })
}

const STATES = {
  'step.completed': 'done',
  'step.failed': 'failed',
  'step.skipped': 'skipped',
  'actor.completed': 'done',
  'actor.failed': 'failed',
} as const

function show(writer: ChatWriter, event: Started | Ended, { step, data }: OpenWork): void {
  const id = idOf(event)
  const { key } = event.data as { readonly key?: string }
  const type = event.type.startsWith('step.') ? 'data-step' : 'data-actor'
  writer.emit({ type, id, data }, { step, recorded: key !== undefined })
  writer.setWork(id, data.state === 'running' ? { step, data } : undefined)
}

function dataOf({ type, data, actor, run }: Started): WorkData {
  if (type === 'step.started') {
    const { name, kind, parent } = data
    return {
      name,
      ...(kind !== undefined && { kind }),
      ...(parent !== undefined && { parent }),
      ...(actor !== undefined && { actor: actorName(run, actor) }),
      state: 'running',
    }
  }
  const { component, kind, parent = run } = actor!
  return {
    name: actorName(run, actor!),
    component,
    ...(kind !== undefined && { kind }),
    ...(parent !== run && { parent: parent.slice(run.length + 1) }),
    state: 'running',
  }
}

function idOf({ type, data, actor, run }: Started | Ended): string {
  const whose = actor === undefined ? '' : actorName(run, actor)
  if (type === 'actor.started' || type === 'actor.completed' || type === 'actor.failed') return whose
  return whose === '' ? data.step : `${whose}:${data.step}`
}
