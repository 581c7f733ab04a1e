/** Components as AgentOS describes them. What they do not say about themselves is left out. */
import type { Component } from '../../core/agent.ts'

/** There is one store, and clients want it named. */
export const DB_ID = 'holdfast'

/** What some kinds of component say beyond the seam. */
interface Described {
  readonly steps?: readonly Node[]
  readonly model?: { readonly id?: unknown; readonly provider?: unknown }
}

interface Node {
  readonly type?: unknown
  readonly name?: unknown
  readonly kind?: unknown
}

export function componentSummary(component: Component): object {
  const { id, name = id, description } = component
  return {
    id,
    name,
    db_id: DB_ID,
    ...(description !== undefined && { description }),
    ...modelOf(component),
    is_factory: false,
    is_component: false,
    metadata: { recovery: component.recovery ?? 'fail', session: component.session ?? 'parallel' },
  }
}

export function componentDetail(component: Component): object {
  const { steps } = component as Described
  const shared = componentSummary(component)
  switch (component.kind) {
    case 'workflow':
      return { ...shared, ...(steps !== undefined && { steps: steps.map(stepOf) }) }
    case 'team':
      return { ...shared, members: [], streaming: { stream: true, stream_events: true } }
    case 'agent':
      return { ...shared, streaming: { stream: true, stream_events: true } }
  }
}

function modelOf(component: Component): object {
  const found = modelNamed(component)
  return found === undefined ? {} : { model: { name: found.id, model: found.id, provider: found.provider } }
}

export interface ModelName {
  readonly id: string
  readonly provider: string
}

export function modelNamed(component: Component): ModelName | undefined {
  const { model } = component as Described
  if (typeof model?.id !== 'string') return undefined
  return { id: model.id, provider: typeof model.provider === 'string' ? model.provider : '' }
}

function stepOf({ type, name, kind }: Node): object {
  return { name, type: kind ?? type }
}
