/** The writes and syncs of a process, as strace saw them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { STRACE } from '../support/disk-faults.ts'

export type Operation =
  | { readonly kind: 'create'; readonly path: string }
  | { readonly kind: 'write'; readonly path: string; readonly offset: number; readonly data: Buffer }
  | { readonly kind: 'truncate'; readonly path: string; readonly size: number }
  | { readonly kind: 'rename'; readonly path: string; readonly to: string }
  | { readonly kind: 'unlink'; readonly path: string }
  /** Of a file or of a folder. */
  | { readonly kind: 'sync'; readonly path: string }
  /** A line on standard output. */
  | { readonly kind: 'said'; readonly line: string }

const CALLS = [
  'openat,write,writev,pwrite64,pwritev,fsync,fdatasync,ftruncate,fallocate,unlink,unlinkat,rename,renameat,renameat2',
]

/** Runs a command to its end, and writes its trace to the file. */
export async function traceCommand(command: readonly string[], output: string): Promise<void> {
  // Strings in hex, and descriptors with the path of their file.
  const options = ['-f', '-y', '-xx', '-s', '16777216', '-e', `trace=${CALLS.join(',')}`, '-o', output]
  const traced = spawn(STRACE, [...options, ...command], { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = (await once(traced, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`the traced command ended with ${code}`)
}

/** File operations below a path prefix and acknowledgements, in the order in which they took effect. */
export async function readTrace(output: string, prefix: string): Promise<readonly Operation[]> {
  const operations: Operation[] = []
  const begun = new Map<string, string>()
  for await (const line of createInterface({ input: createReadStream(output) })) {
    const [, thread, text] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    if (thread === undefined || text === undefined) continue
    const unfinished = /^(.*) <unfinished \.\.\.>$/.exec(text)
    if (unfinished !== null) {
      begun.set(thread, unfinished[1]!)
      continue
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text)
    const whole = resumed === null ? text : (begun.get(thread) ?? '') + resumed[1]!
    const operation = operationOf(whole, prefix)
    if (operation !== undefined) operations.push(operation)
  }
  return operations
}

const FILE = String.raw`\d+<((?:\\x[0-9a-f]{2})*)>`
const TEXT = String.raw`"((?:\\x[0-9a-f]{2})*)"`
const DONE = String.raw`\)\s+= \d+`

const patterns: readonly [RegExp, (match: readonly string[], prefix: string) => Operation | undefined][] = [
  [
    new RegExp(`^pwrite64\\(${FILE}, ${TEXT}, \\d+, (\\d+)${DONE}`),
    ([, path, data, offset]) => ({ kind: 'write', path: textOf(path!), offset: Number(offset), data: bytesOf(data!) }),
  ],
  [
    new RegExp(`^write\\(1<[^>]*>, ${TEXT}, \\d+${DONE}`),
    ([, data]) => ({ kind: 'said', line: bytesOf(data!).toString().trim() }),
  ],
  [new RegExp(`^f(?:data)?sync\\(${FILE}${DONE}`), ([, path]) => ({ kind: 'sync', path: textOf(path!) })],
  [
    new RegExp(`^ftruncate\\(${FILE}, (\\d+)${DONE}`),
    ([, path, size]) => ({ kind: 'truncate', path: textOf(path!), size: Number(size) }),
  ],
  [new RegExp(`^unlink\\(${TEXT}${DONE}`), ([, path]) => ({ kind: 'unlink', path: textOf(path!) })],
  [
    new RegExp(`^rename\\(${TEXT}, ${TEXT}${DONE}`),
    ([, path, to]) => ({ kind: 'rename', path: textOf(path!), to: textOf(to!) }),
  ],
  [
    new RegExp(`^openat\\([^,]*, ${TEXT}, [^)]*O_CREAT[^)]*${DONE}`),
    ([, path]) => ({ kind: 'create', path: textOf(path!) }),
  ],
]

/** Calls of another form that concern these files, which nothing here could repeat. */
const OTHER = new RegExp(`^(?:write|writev|pwritev|fallocate|unlinkat|renameat2?)\\(.*`)

function operationOf(call: string, prefix: string): Operation | undefined {
  for (const [pattern, read] of patterns) {
    const match = pattern.exec(call)
    if (match === null) continue
    const operation = read(match, prefix)!
    const isOurs = operation.kind === 'said' || operation.path.startsWith(prefix) || isFolderOf(operation, prefix)
    return isOurs ? operation : undefined
  }
  if (OTHER.test(call) && call.includes(hexOf(prefix)) && / = \d+$/.test(call))
    throw new Error(`cannot repeat this call: ${call.slice(0, 200)}`)
  return undefined
}

function isFolderOf({ kind, path }: { kind: string; path: string }, prefix: string): boolean {
  return kind === 'sync' && prefix.startsWith(`${path}/`)
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(String.raw`\x`, ''), 'hex')
}

function textOf(hex: string): string {
  return bytesOf(hex).toString()
}

function hexOf(text: string): string {
  return Buffer.from(text)
    .toString('hex')
    .replaceAll(/../g, (byte) => String.raw`\x${byte}`)
}
