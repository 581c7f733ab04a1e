/** Checks the fields of agents' events that views rely on. */
import type { EventType } from './event.ts'

type FieldKind = 'string' | 'string?' | 'failure' | 'list'
type Fields = Readonly<Record<string, FieldKind>>

const message: Fields = { message: 'string' }
const delta: Fields = { text: 'string', message: 'string?' }
const tool: Fields = { call: 'string', name: 'string' }
const model: Fields = { request: 'string', model: 'string' }
const step: Fields = { step: 'string', name: 'string' }

const fieldsByType: Partial<Record<EventType, Fields>> = {
  'run.failed': { error: 'failure' },
  'run.rejected': { reason: 'string' },
  'text.started': message,
  'text.delta': delta,
  'text.completed': message,
  'reasoning.started': message,
  'reasoning.delta': delta,
  'reasoning.completed': message,
  'tool.drafted': { ...tool, delta: 'string' },
  'tool.called': tool,
  'tool.progressed': { call: 'string' },
  'tool.completed': tool,
  'tool.failed': { ...tool, error: 'failure' },
  'model.requested': model,
  'model.responded': model,
  'step.started': step,
  'step.completed': step,
  'step.failed': { ...step, error: 'failure' },
  'step.skipped': step,
  'artifact.added': { artifact: 'string', mediaType: 'string' },
  'source.cited': { source: 'string' },
  'state.patched': { patch: 'list' },
  'custom.emitted': { name: 'string' },
  'upstream.received': { protocol: 'string', name: 'string' },
}

const tables = new Map(
  Object.entries(fieldsByType).map(([type, fields]) => [type as EventType, Object.entries(fields)] as const),
)

/** The problem with an event's data, as a sentence; undefined if there is none. */
export function wrongField(type: EventType, data: object): string | undefined {
  const fields = tables.get(type)
  if (fields === undefined) return undefined
  for (const [name, kind] of fields) {
    const value: unknown = (data as Readonly<Record<string, unknown>>)[name]
    if (!fits(value, kind)) return `${type} with ${name}, which ${needed[kind]}, as ${describe(value)}`
  }
  return undefined
}

const needed: Readonly<Record<FieldKind, string>> = {
  string: 'must be a string',
  'string?': 'must be a string if present',
  failure: 'must be an object with the strings `code` and `message`',
  list: 'must be a list',
}

function fits(value: unknown, kind: FieldKind): boolean {
  switch (kind) {
    case 'string':
      return typeof value === 'string'
    case 'string?':
      return value === undefined || typeof value === 'string'
    case 'list':
      return Array.isArray(value)
    case 'failure': {
      const { code, message: text } = (value ?? {}) as { code?: unknown; message?: unknown }
      return typeof code === 'string' && typeof text === 'string'
    }
  }
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}
