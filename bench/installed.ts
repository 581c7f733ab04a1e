/** Installed servers: the built command line, in a process that can be killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import { createInterface } from 'node:readline'

export class InstalledServer {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(url: string, child: ChildProcess) {
    this.url = url
    this.#child = child
  }

  /** Resolves when the server has printed its address. */
  static async start(parameters: readonly string[]): Promise<InstalledServer> {
    const child = spawn(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'inherit'] })
    for await (const line of createInterface({ input: child.stdout })) {
      const [url] = /http:\S+/.exec(line) ?? []
      if (url === undefined) continue
      child.stdout.resume()
      return new InstalledServer(url, child)
    }
    throw new Error('the server exited before it printed its address')
  }

  /** Current and peak resident memory; Linux only. */
  memory(): { readonly rssBytes: number; readonly peakBytes: number } {
    const path = `/proc/${this.#child.pid}/status`
    const status = existsSync(path) ? readFileSync(path, 'utf8') : ''
    const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0)
    return { rssBytes: kilobytes('VmRSS') * 1024, peakBytes: kilobytes('VmHWM') * 1024 }
  }

  /** CPU time of all its threads so far, to the kernel's tick; Linux only. */
  cpuMs(): number {
    const path = `/proc/${this.#child.pid}/stat`
    if (!existsSync(path)) return 0
    // The fields after the name, which may have spaces: state is the first, user and system time the 12th and 13th.
    const fields = readFileSync(path, 'utf8').split(') ').at(-1)!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS
  }

  /** Kills it with SIGKILL. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }
}

/** Time from process start to the first response; the server keeps running. */
export async function timeToAnswer(
  parameters: readonly string[],
  path: string,
): Promise<{ readonly ms: number; readonly server: InstalledServer }> {
  const begun = performance.now()
  const server = await InstalledServer.start(parameters)
  try {
    await answered(`${server.url}${path}`)
    return { ms: performance.now() - begun, server }
  } catch (cause) {
    await server.stop()
    throw cause
  }
}

export function answered(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url} answers ${response.statusCode}`))
      response.resume().on('end', resolve)
    }).on('error', reject)
  })
}

export interface HealthWatch {
  /** Latencies in milliseconds. */
  end(): Promise<readonly number[]>
}

/** Polls a server's health until ended. */
export function watchHealth(url: string): HealthWatch {
  const times: number[] = []
  let isOver = false
  const asking = (async () => {
    while (!isOver) {
      const begun = performance.now()
      await answered(`${url}/health`)
      times.push(performance.now() - begun)
      await new Promise((resolve) => setTimeout(resolve, HEALTH_EVERY_MS))
    }
  })()
  return {
    async end() {
      isOver = true
      await asking
      return times
    },
  }
}

const HEALTH_EVERY_MS = 20
/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10
