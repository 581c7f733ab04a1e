/** Events that cannot be serialized: the component's policy, and the entry in the server's log. */
import { describe, expect, test } from 'vitest'
import { dataOf, logOf, PATIENCE_MS } from '../../../test/support/adapters.ts'
import { openNode, textOf, typesOf } from '../../../test/support/node.ts'
import { agent } from '../../agents/agent.ts'
import { packEmission, unpackEmission } from '../../agents/isolated/packing.ts'
import type { Emission, RunContext, UnserializablePolicy } from '../ports/component.ts'
import { silentLogger } from '../ports/logger.ts'

class Ledger {
  readonly total: number
  constructor() {
    this.total = 0
    Object.defineProperty(this, 'total', {
      enumerable: true,
      get() {
        throw new RangeError('the ledger is closed')
      },
    })
  }
}

const broken = (): Emission => ({ type: 'custom.emitted', data: { name: 'ledger', value: { books: [new Ledger()] } } })

const refusal = {
  event: 'custom.emitted',
  path: 'data.value.books[0].total',
  problem: 'has a getter that throws',
  class: 'Ledger',
}

function emitting(onUnserializable: UnserializablePolicy | undefined, emission: Emission) {
  return agent({
    id: 'clerk',
    ...(onUnserializable !== undefined && { onUnserializable }),
    async *run() {
      yield 'before, '
      yield emission
      yield 'after'
    },
  })
}

describe('[EVT-1] an event that cannot be serialized', () => {
  test('O-2 fails the run by default, and the log of the server has its type, path and class and what was thrown', async () => {
    const lines: Readonly<Record<string, unknown>>[] = []
    const logger = { ...silentLogger, error: (fields: object) => void lines.push({ ...fields }) }
    const node = openNode({ components: [emitting(undefined, broken())], logger })
    const log = await node.ended(await node.start('clerk', 'go'), PATIENCE_MS)
    expect(dataOf(log, 'run.failed')[0]?.error).toMatchObject({ code: 'unserializable', details: refusal })
    expect(JSON.stringify(log)).not.toContain('the ledger is closed') // it may hold anything
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ code: 'unserializable', details: refusal })
    const { cause } = lines[0]!['err'] as Error
    expect((cause as Error).cause).toEqual(new RangeError('the ledger is closed'))
  })

  test('is replaced by a placeholder with onUnserializable: replace, and the run continues', async () => {
    const log = await logOf(emitting('replace', broken()))
    expect(textOf(log)).toBe('before, after')
    expect(dataOf(log, 'custom.emitted')).toEqual([
      { name: 'holdfast.unserializable', value: { code: 'unserializable', ...refusal } },
    ])
    expect(log.at(-1)?.type).toBe('run.completed')
  })

  test('is replaced if it is too large', async () => {
    const node = openNode({
      components: [emitting('replace', { type: 'custom.emitted', data: { name: 'x', value: 'y'.repeat(5000) } })],
      limits: { maxEventBytes: 2000 },
    })
    const log = await node.ended(await node.start('clerk', 'go'), PATIENCE_MS)
    expect(dataOf(log, 'custom.emitted')[0]).toMatchObject({ value: { code: 'output_too_large', bytesMax: 2000 } })
    expect(log.at(-1)?.type).toBe('run.completed')
  })

  test('is replaced by the policy of the component that emitted it', async () => {
    const member = emitting('replace', broken())
    const leader = agent({
      id: 'leader',
      async *run(_input, { call }: RunContext) {
        await call(member, 'go')
        yield broken()
      },
    })
    const log = await logOf(leader)
    expect(dataOf(log, 'custom.emitted')).toMatchObject([{ name: 'holdfast.unserializable' }])
    expect(typesOf(log)).toContain('actor.completed')
    expect(dataOf(log, 'run.failed')[0]?.error.code).toBe('unserializable')
  })

  test.each<[string, Emission]>([
    ['ends the run', { type: 'run.completed', data: { output: new Ledger() } }],
    ['is wrong in another way', { type: 'custom.emitted', data: { value: 1 } } as unknown as Emission],
  ])('is never replaced if it %s', async (_what, emission) => {
    expect((await logOf(emitting('replace', emission))).at(-1)?.type).toBe('run.failed')
  })

  test('is replaced in the thread of an isolated component', () => {
    expect(unpackEmission(packEmission(broken(), 'replace'))).toEqual({
      type: 'custom.emitted',
      data: { name: 'holdfast.unserializable', value: { code: 'unserializable', ...refusal } },
    })
    expect(() => packEmission(broken())).toThrow('has a getter that throws')
  })
})
