/** The tables of limits in the docs have the defaults of the code. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defaultLimits as limits } from '../../src/core/model/limits.ts'
import { NETWORK_BYTES_MAX, SITE_BYTES_MAX, TOTAL_BYTES_MAX } from '../../src/core/access/unverified-sums.ts'
import { PENDING_BYTES_MAX, PENDING_MAX } from '../../src/core/scheduling/client-logs.ts'
import { jsonBounds } from '../../src/http/request/json.ts'
import { defaultPushLimits as push } from '../../src/protocols/a2a/push/limits.ts'
import { configOptions } from '../../src/server/config/config-options.ts'

const docs = join(import.meta.dirname, '../../docs')

/** Cells of the rows of the first table below a heading. */
function tableBelow(page: string, heading: string): string[][] {
  const [, section = ''] = readFileSync(join(docs, page), 'utf8').split(`\n## ${heading}\n`)
  const [table = ''] = /^\|[^]*?\n(?!\|)/m.exec(section) ?? []
  const rows = table.trim().split('\n').slice(2)
  return rows.map((row) =>
    row
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  )
}

const count = (value: number): string => value.toLocaleString('en-US')
const UNITS = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
] as const
const size = (bytes: number): string => {
  const [unit, unitBytes] = UNITS.find(([, each]) => bytes % each === 0)!
  return `${bytes / unitBytes} ${unit}`
}
const orNone = (value: number): string => (value === 0 ? 'no limit' : count(value))

/** Beginnings of the first and of the third column. */
const perPrincipal: readonly (readonly [string, string])[] = [
  ['runs executed at once', limits.maxRunsPerPrincipal === 0 ? 'half of' : count(limits.maxRunsPerPrincipal)],
  ['queued runs', 'at most half'],
  ['starts per second', `${count(limits.maxStartsPerSecond)}, burst ${count(limits.maxStartBurst)}`],
  ['requests, gRPC calls', `${count(limits.maxRequestsPerSecond)}, burst ${count(limits.maxRequestBurst)}`],
  [
    'requests before authentication',
    `${count(limits.maxRequestsPerSecondPerAddress)} per second, burst ${count(limits.maxRequestBurstPerAddress)}`,
  ],
  [
    'WebSockets that have not authenticated',
    `${count(limits.maxUnauthenticatedSocketsPerAddress)} per address, ${count(limits.maxUnauthenticatedSockets)} in all, ${limits.socketAuthTimeoutMs / 1000} s each`,
  ],
  ['connections', `${count(limits.maxConnectionsPerAddress)} per address, ${count(limits.maxConnections)} in all`],
  ['open streams', count(limits.maxStreamsPerPrincipal)],
  [
    'folds of long runs',
    `${limits.maxConcurrentFolds}, ${limits.maxConcurrentFolds / 2} per principal; ${count(limits.maxQueuedFolds)} more wait, ${limits.maxQueuedFolds / 2} per principal, at most ${limits.foldQueueTimeoutMs / 1000} s`,
  ],
  ['memory of the states', size(limits.maxActiveViewBytes)],
  [
    'stored bytes of callers whose credential no upstream has accepted',
    `${size(NETWORK_BYTES_MAX)} per address, ${size(SITE_BYTES_MAX)} per IPv6 /48, ${size(TOTAL_BYTES_MAX)} in all`,
  ],
  ['requests with a wrong credential', `${limits.maxAuthFailureBurst} at once`],
  ['stored bytes', orNone(limits.maxStoredBytesPerPrincipal)],
  ['documents', orNone(limits.maxDocumentsPerPrincipal)],
  ['webhooks', `${limits.maxWebhooksPerTask} per task, ${limits.maxWebhooksPerPrincipal} per principal`],
  ['[share links]', `${limits.maxSharesPerRun} per run, ${count(limits.maxSharesPerPrincipal)} per principal`],
  ['streams and requests of one share link', 'as for a principal'],
  [
    'webhook deliveries in flight',
    `${push.maxDeliveries}, ${push.maxDeliveriesPerPrincipal} per principal, ${push.maxDeliveriesPerHost} per receiving host`,
  ],
  ['appends to [streams]', `${size(PENDING_BYTES_MAX)}; ${count(PENDING_MAX)} per stream`],
  ['request body', size(limits.maxBodyBytes)],
  ['one document', size(limits.maxDocumentBytes)],
]

test('docs/config.md: the limits per principal have the defaults of the code', () => {
  const rows = tableBelow('config.md', 'Limits per principal')
  expect(rows.map(([what]) => what)).toEqual(perPrincipal.map(([begin]) => expect.stringMatching(startOf(begin))))
  expect(rows.map(([, , value]) => value)).toEqual(
    perPrincipal.map(([, begin]) => expect.stringMatching(startOf(begin))),
  )
})

test('docs/config.md: the limits per principal name flags that exist', () => {
  const rows = tableBelow('config.md', 'Limits per principal')
  const flags = rows.flatMap(([, flag = '']) => [...flag.matchAll(/--([\w-]+)/g)].map(([, name]) => name!))
  expect(flags.length).toBeGreaterThan(6)
  expect(flags.filter((flag) => !Object.hasOwn(configOptions, flag))).toEqual([])
})

test('docs/operations.md: the request limits have the defaults of the code', () => {
  const values = new Map(tableBelow('operations.md', 'Request limits').map(([what, value]) => [what, value]))
  const { maxNodes, maxMembers, maxDepth } = jsonBounds
  expect(values.get('body, WebSocket message, gRPC message')).toBe(size(limits.maxBodyBytes))
  expect(values.get('header')).toBe(size(limits.maxHeaderBytes))
  expect(values.get('JSON: values in all, members of one object, levels')).toBe(
    `${count(maxNodes)}, ${count(maxMembers)}, ${maxDepth}`,
  )
  expect(values.get('one response that lists runs, tasks, items or sessions')).toBe(size(limits.maxResponseBytes))
  expect(values.get('log of one run that is aggregated into one response')).toContain(
    size(limits.maxUnstreamedLogBytes),
  )
  expect(values.get('connections of one address (IPv6: of one /64)')).toBe(
    `${count(limits.maxConnectionsPerAddress)} of ${count(limits.maxConnections)}`,
  )
})

function startOf(text: string): RegExp {
  return new RegExp(`^${RegExp.escape(text)}`)
}

/** As the comment of a limit writes its default: with a unit that its name calls for. */
function defaultText(name: string, value: number): string {
  const units: readonly (readonly [number, string])[] = name.endsWith('Ms')
    ? [
        [3_600_000, 'hour'],
        [60_000, 'minute'],
        [1000, 'second'],
        [1, 'millisecond'],
      ]
    : name.includes('Bytes')
      ? [
          [2 ** 20, 'MiB'],
          [2 ** 10, 'KiB'],
        ]
      : []
  const [divisor, unit] = units.find(([unitSize]) => value !== 0 && value % unitSize === 0) ?? [1, '']
  const plural = name.endsWith('Ms') && unit !== '' && value !== divisor ? 's' : ''
  return `Default: ${count(value / divisor)}${unit && ` ${unit}${plural}`}.`
}

test.each([
  ['src/core/model/limits.ts', limits],
  ['src/protocols/a2a/push/limits.ts', push],
])('limits: the comment of every limit in %s, which editors show, names its default', (file, defaults) => {
  const source = readFileSync(join(docs, '..', file), 'utf8')
  const comments = new Map(
    [...source.matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\n {2}readonly (\w+): number/g)].map(([, text, name]) => [
      name,
      text,
    ]),
  )
  const missing = Object.entries(defaults).flatMap(([name, value]) => {
    const expected = defaultText(name, value)
    return comments.get(name)?.includes(expected) === true ? [] : [`${name}: ${expected}`]
  })
  expect(missing).toEqual([])
})
