/** The history of one view: the page's requests, the proxy's faults, and server outages. */
import type { IncomingMessage } from 'node:http'
import type { Fault } from '../../client/fault-proxy.ts'
import { type Tries, type Try, TRY_HEADER } from './tries.ts'

export class History {
  readonly #met = new Map<number, string>()
  #restarts: { readonly since: number; readonly until: number }[] = []

  /** Each page restarts the numbering of requests. */
  clear(): void {
    this.#met.clear()
    this.#restarts = []
  }

  note(request: IncomingMessage, fault: Fault): Fault {
    const number = Number(request.headers[TRY_HEADER])
    if (!Number.isNaN(number)) this.#met.set(number, JSON.stringify(fault))
    return fault
  }

  noteAway(request: IncomingMessage): void {
    const number = Number(request.headers[TRY_HEADER])
    this.#met.set(number, `${this.#met.get(number) ?? ''} the server is down`)
  }

  noteRestart(since: number, until: number): void {
    this.#restarts.push({ since, until })
  }

  /** One line per request, pause and restart, with seconds since the start of the wave. */
  of(index: number, run: string | undefined, tries: Tries, began: number): string {
    const own = tries.entries.filter(({ about }) => about === `view-${index}` || about === run)
    const lines = own.map((entry) => ({ at: entry.at, line: this.#described(entry) }))
    const away = this.#restarts.map(({ since, until }) => ({
      at: since,
      line: `-- the server is killed, and listens again after ${seconds(until - since)}`,
    }))
    const left = tries.left === 0 ? [] : [`  and ${tries.left} later tries of all views, which are not recorded`]
    return [...lines, ...away]
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, line }) => `  +${seconds(at - began)} ${line}`)
      .concat(left)
      .join('\n')
  }

  /** The history of the view with the latest try. */
  slowest(runs: readonly (string | undefined)[], tries: Tries, began: number): string {
    const { about } = tries.entries.findLast(({ number }) => number !== undefined) ?? { about: '' }
    const index = runs.includes(about) ? runs.indexOf(about) : Number(about.slice('view-'.length))
    return `view ${index}:
${this.of(index, runs[index], tries, began)}`
  }

  #described({ what, number, end, tookMs }: Try): string {
    if (number === undefined) return what
    const ended = end === undefined ? 'still open' : `${end} after ${seconds(tookMs!)}`
    return `${what} → ${ended}; proxy: ${this.#met.get(number) ?? 'never came'}`
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
