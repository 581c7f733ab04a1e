/** Agent events that lack a field which views require are rejected. */
import { describe, expect, test } from 'vitest'
import { failureOf, logOf } from '../../../test/support/workflow-helpers.ts'
import { openNode, subject, typesOf } from '../../../test/support/node.ts'
import { agent } from '../../agents/agent.ts'
import type { Emission } from '../ports/component.ts'

const cases: readonly [string, string, unknown][] = [
  ['text.delta', 'text', {}],
  ['text.delta', 'text', { text: 7 }],
  ['text.delta', 'message', { text: 'a', message: 7 }],
  ['text.started', 'message', {}],
  ['reasoning.delta', 'text', { text: null }],
  ['tool.drafted', 'delta', { call: 'c', name: 'n' }],
  ['tool.called', 'call', { name: 'n', input: {} }],
  ['tool.called', 'name', { call: 'c', input: {} }],
  ['tool.progressed', 'call', { output: 1 }],
  ['tool.completed', 'name', { call: 'c', name: ['n'], output: 1 }],
  ['tool.failed', 'error', { call: 'c', name: 'n', error: 'no' }],
  ['tool.failed', 'error', { call: 'c', name: 'n', error: { code: 'x' } }],
  ['model.requested', 'request', { model: 'm' }],
  ['model.responded', 'model', { request: 'r' }],
  ['step.started', 'step', { name: 'n' }],
  ['step.completed', 'name', { step: 's' }],
  ['step.failed', 'error', { step: 's', name: 'n' }],
  ['step.skipped', 'step', { name: 'n' }],
  ['artifact.added', 'artifact', { mediaType: 'text/plain' }],
  ['artifact.added', 'mediaType', { artifact: 'a' }],
  ['source.cited', 'source', { url: 'https://a' }],
  ['state.patched', 'patch', { patch: {} }],
  ['custom.emitted', 'name', { value: 1 }],
  ['run.failed', 'error', {}],
  ['run.failed', 'error', { error: { message: 'no' } }],
  ['run.rejected', 'reason', {}],
]

describe('an event that an agent emits', () => {
  test.each(cases)('%s with an invalid %s fails the run and is not in the log', async (type, field, data) => {
    const yields = subject(async function* () {
      yield 'before'
      yield { type, data } as unknown as Emission
    })
    const log = await logOf(yields)
    expect(typesOf(log).slice(2)).toEqual(['text.delta', 'run.failed'])
    const { code, message } = failureOf(log)
    expect(code).toBe('protocol_violation')
    expect(message).toMatch(new RegExp(`^the agent yielded ${type} with ${field}, which must be`))
  })

  test.each(cases)(
    '%s with an invalid %s fails a member, and its caller gets the failure',
    async (type, field, data) => {
      const member = agent<unknown>({
        id: 'member',
        async *run() {
          yield { type, data } as unknown as Emission
        },
      })
      const log = await logOf(
        subject(async function* (_, { call }) {
          yield 'before'
          return call(member, null).catch((thrown: Error) => thrown.message)
        }),
      )
      const reported = log.find((event) => event.type === 'actor.failed')?.data
      expect(reported).toMatchObject({ error: { code: 'protocol_violation' } })
      expect(JSON.stringify(reported)).toContain(`${type} with ${field}, which must be`)
    },
  )

  test('[EVT-1] an event that cannot be read is reported by the path of the value', async () => {
    const data = {
      get text(): string {
        throw new Error('no')
      },
    }
    const log = await logOf(
      subject(async function* () {
        yield { type: 'text.delta', data }
      }),
    )
    expect(failureOf(log)).toMatchObject({ code: 'unserializable', details: { path: 'data.text' } })
  })
})

describe('a failure that an agent yields', () => {
  test.each<[string, unknown]>([
    ['with nothing more to say', undefined],
    ['with details', { place: 'here' }],
    ['with details that are not an object', 'here'],
  ])('a failure %s is also in the server’s log', async (_, details) => {
    const lines: [object, string][] = []
    const note = (fields: object, message: string): void => void lines.push([fields, message])
    const logger = { debug() {}, info() {}, warn() {}, error: note }
    const error = { code: 'out_of_stock', message: 'there is none left', ...(details !== undefined && { details }) }
    const failing = subject(async function* () {
      yield { type: 'run.failed', data: { error } }
    })
    const node = openNode({ components: [failing], logger })
    const log = await node.ended(await node.start('subject'))
    expect(failureOf(log)).toMatchObject(error)
    expect(lines).toHaveLength(1)
    const [fields, message] = lines[0]!
    expect(message).toBe('run failed: there is none left')
    expect(fields).toMatchObject({ run: log[0]!.run, component: 'subject', code: 'out_of_stock' })
    // By its id an operator finds the line, where there is a place for it.
    const { errorId } = fields as { errorId: string }
    expect(failureOf(log)).toMatchObject({ details: typeof details === 'string' ? details : { id: errorId } })
  })
})
