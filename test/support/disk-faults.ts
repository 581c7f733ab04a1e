/** Disk faults below the store: system calls of the server fail until healed. */
import { execFile, spawn } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { ensureAptPackage } from './apt.ts'

export const STRACE = '/usr/bin/strace'
const ATTACH_MS = 10_000

/** Requires strace and permission to trace processes; otherwise the test fails with a message. */
export function ensureStrace(): Promise<void> {
  return ensureAptPackage('strace', STRACE)
}

export interface Fault {
  readonly heal: () => Promise<void>
}

/** Makes every sync of a process fail or hang, or first one and then the other. */
export function breakSyncs(pid: number, { error, delayMs = 0 }: { error?: 'EIO'; delayMs?: number }): Promise<Fault> {
  const injection = [
    ...(error === undefined ? [] : [`error=${error}`]),
    ...(delayMs === 0 ? [] : [`delay_enter=${delayMs * 1000}`]),
  ]
  return inject(['-f', '-p', String(pid)], 'fsync,fdatasync', injection)
}

/** Makes reads of a store's files hang, optionally only those of a named thread. */
export function blockReads(pid: number, store: string, thread?: string): Promise<Fault> {
  const files = ['-P', store, '-P', `${store}-wal`]
  const target = thread === undefined ? ['-f', '-p', String(pid)] : ['-p', threadOf(pid, thread)]
  return inject([...files, ...target], 'pread64,read', ['delay_enter=600s'])
}

/** How often a process has a file open: each of the store's threads opens it for itself. */
export function timesOpen(pid: number, path: string): number {
  const files = `/proc/${pid}/fd`
  return readdirSync(files).filter((file) => targetOf(`${files}/${file}`) === path).length
}

/** Undefined if the descriptor was closed meanwhile. */
function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link)
  } catch {
    return undefined
  }
}

function threadOf(pid: number, name: string): string {
  const tasks = `/proc/${pid}/task`
  const found = readdirSync(tasks).find((task) => readFileSync(`${tasks}/${task}/comm`, 'utf8').trim() === name)
  if (found === undefined) throw new Error(`the server has no thread ${name}`)
  return found
}

async function inject(target: readonly string[], calls: string, injection: readonly string[]): Promise<Fault> {
  const args = [...target, '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:${injection.join(':')}`]
  const strace = spawn(STRACE, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = new Promise((resolve) => strace.once('exit', resolve))
  const heal = async (): Promise<void> => {
    strace.kill('SIGINT')
    await exited
  }
  onTestFinished(heal)
  await attached(strace.stderr, exited)
  return { heal }
}

function attached(stderr: NodeJS.ReadableStream, exited: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    const fail = (): void =>
      reject(new Error(`strace could not attach to the server; is ptrace allowed here? It said: ${output}`))
    const timer = setTimeout(fail, ATTACH_MS)
    stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (!/ attached/.test(output)) return
      clearTimeout(timer)
      resolve()
    })
    void exited.then(fail)
  })
}

/** Simulates a full disk: limits the size of each file that the command writes. */
export function onSmallDisk(kibibytes: number): (line: readonly string[]) => readonly string[] {
  // Only the soft limit, so that it can be lifted. Node ignores the signal, and writes fail.
  return (line) => ['bash', '-c', `ulimit -S -f ${kibibytes}; exec "$@"`, 'bash', ...line]
}

/** Frees space: lifts the limit. */
export async function makeRoom(pid: number): Promise<void> {
  await promisify(execFile)('prlimit', ['--pid', String(pid), '--fsize=unlimited'])
}
