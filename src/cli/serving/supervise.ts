/** `--supervise`: runs the server as a child process and restarts it when it is killed or its store is busy. */
import { type ChildProcess, spawn } from 'node:child_process'
import { type AddressInfo, createServer } from 'node:net'
import { constants } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../../server/config/config.ts'
import { FAILED, UNAVAILABLE } from '../exit-codes.ts'
import type { CommandIo } from '../io.ts'
import { SUPERVISED } from './supervised.ts'

/** Maximum consecutive restarts of a server that dies immediately. */
const RESTARTS_MAX = 20
const RESTART_MS = 100
const RESTART_MS_MAX = 10_000
/** Uptime that resets the restart counter. */
const WELL_MS = 10_000
const PASSED_ON = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** Runs the same command without `--supervise` in a child process; resolves with the exit code. */
export async function supervise(
  command: string,
  argv: readonly string[],
  config: Config,
  io: CommandIo,
): Promise<number> {
  const line = [command, ...(await childArgv(argv, config))]
  const end = new AbortController()
  let child: ChildProcess | undefined
  for (const signal of PASSED_ON) {
    process.on(signal, () => {
      end.abort()
      child?.kill(signal)
    })
  }
  for (let restarts = 0; ; restarts++) {
    const since = performance.now()
    child = start(line, io)
    const { code, signal } = await exitOf(child)
    if (signal === null && code !== UNAVAILABLE) return code ?? FAILED
    if (end.signal.aborted) return signal === null ? UNAVAILABLE : 128 + constants.signals[signal]
    const how = signal === null ? 'could not use its store' : `was killed by ${signal}`
    if (performance.now() - since >= WELL_MS) restarts = 0
    if (restarts >= RESTARTS_MAX) {
      io.stderr.write(`The server ${how} ${restarts + 1} times in a row; giving up.\n`)
      return signal === null ? UNAVAILABLE : FAILED
    }
    io.stderr.write(`The server ${how}; restarting it.\n`)
    // Rejects when aborted, which the loop checks next.
    await wait(Math.min(RESTART_MS * 2 ** restarts, RESTART_MS_MAX), undefined, { signal: end.signal }).catch(() => {})
    if (end.signal.aborted) return 128 + constants.signals.SIGTERM
  }
}

/**
 * Detached, so that it gets Ctrl-C only from this process and not twice. It notices the death of this process by the closed IPC
 * channel.
 */
function start(line: readonly string[], { env }: CommandIo): ChildProcess {
  const { HOLDFAST_SUPERVISE: _ours, ...childEnv } = env
  return spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...line], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
    env: { ...childEnv, ...SUPERVISED },
  })
}

function exitOf(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
}

/** Removes `--supervise`, and fixes the port across restarts. */
async function childArgv(argv: readonly string[], { port }: Config): Promise<string[]> {
  const terminator = argv.indexOf('--')
  const flagsEnd = terminator < 0 ? argv.length : terminator
  const flags = argv.slice(0, flagsEnd).filter((arg) => !/^--(?:no-)?supervise(?:=|$)/.test(arg))
  return [...flags, ...(port === 0 ? ['--port', String(await freePort())] : []), ...argv.slice(flagsEnd)]
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
