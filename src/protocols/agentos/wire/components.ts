/** Component descriptions in AgentOS format; unknown fields are omitted. */
import type { Component, ComponentDescription } from '../../../core/ports/component.ts'
import { schemasOf } from '../../../core/schema/component-schemas.ts'

/** Clients require a database id; there is one store. */
export const DB_ID = 'holdfast'

/** Members of a team are listed with their known fields. */
type ListedComponent = ComponentDescription & Partial<Pick<Component, 'input'>>

/** Optional metadata of some component kinds. */
interface DescribedComponent {
  readonly steps?: readonly Node[]
}

interface Node {
  readonly type?: unknown
  readonly name?: unknown
  readonly kind?: unknown
}

export function componentSummary(component: ListedComponent): object {
  const { id, name = id, description } = component
  return {
    id,
    name,
    db_id: DB_ID,
    ...(description !== undefined && { description }),
    ...modelOf(component),
    is_factory: false,
    is_component: false,
    metadata: { recovery: component.recovery ?? 'fail', session: component.onBusySession ?? 'parallel' },
  }
}

export function componentDetail(component: ListedComponent): object {
  const { steps } = component as DescribedComponent
  const { input } = schemasOf(component)
  const shared = { ...componentSummary(component), ...(input !== undefined && { input_schema: input }) }
  switch (component.kind) {
    case 'workflow':
      return { ...shared, ...(steps !== undefined && { steps: steps.map(stepOf) }) }
    case 'team':
      return { ...shared, ...teamOf(component), streaming: { stream: true, stream_events: true } }
    case 'agent':
      return { ...shared, streaming: { stream: true, stream_events: true } }
  }
}

function modelOf(component: ComponentDescription): object {
  const found = modelNamed(component)
  return found === undefined ? {} : { model: { name: found.id, model: found.id, provider: found.provider } }
}

export interface ModelName {
  readonly id: string
  readonly provider: string
}

export function modelNamed({ info }: ComponentDescription): ModelName | undefined {
  return info?.model && { id: info.model.id, provider: info.model.provider ?? '' }
}

function teamOf({ info }: ComponentDescription): object {
  return {
    members: (info?.members ?? []).map((member) => componentDetail(member)),
    ...(info?.mode !== undefined && { mode: info.mode }),
  }
}

function stepOf({ type, name, kind }: Node): object {
  return { name, type: kind ?? type }
}
