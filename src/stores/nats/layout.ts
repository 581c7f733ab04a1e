/**
 * How streams and subjects are named. Each partition has two streams: `log`, with one subject per run, which only grows; and
 * `state`, which keeps the last message of each subject: documents, lanes, keys, owners, and parts of large messages.
 */
import { createHash } from 'node:crypto'

/** A subject and the stream that has it. */
export interface Spot {
  readonly stream: string
  readonly subject: string
}

/** No run has such a token. */
const BARRIER = '~barrier'

export function isBarrier(subject: string): boolean {
  return subject.endsWith(`.${BARRIER}`)
}

type StateKind = 'document' | 'lane' | 'key' | 'owner'

export class Layout {
  readonly name: string
  readonly partitions: number

  constructor(name: string, partitions: number) {
    this.name = name
    this.partitions = partitions
  }

  get logs(): readonly Spot[] {
    return this.#all('log')
  }

  get states(): readonly Spot[] {
    return this.#all('state')
  }

  run(id: string): Spot {
    return this.#spot('log', id, tokenOf(id))
  }

  /** In the stream of a run: what is written there only to know what was written before. */
  barrier({ stream, subject }: Spot): Spot {
    return { stream, subject: `${subject.split('.').slice(0, 3).join('.')}.${BARRIER}` }
  }

  /** Something that is named by several texts together. */
  state(kind: StateKind, ...names: readonly string[]): Spot {
    const token = hashOf(JSON.stringify(names))
    return this.#spot('state', token, `${kind}.${token}`)
  }

  part(run: string, name: string, number: number): Spot {
    return this.#spot('state', run, `part.${tokenOf(run)}.${name}.${number}`)
  }

  /** All parts of a run's messages. */
  parts(run: string): Spot {
    return this.#spot('state', run, `part.${tokenOf(run)}.>`)
  }

  #spot(kind: 'log' | 'state', hashed: string, rest: string): Spot {
    const partition = partitionOf(hashed, this.partitions)
    return { stream: `${this.name}-${kind}-${partition}`, subject: `${this.name}.${kind}.${partition}.${rest}` }
  }

  #all(kind: 'log' | 'state'): Spot[] {
    return Array.from({ length: this.partitions }, (_, partition) => ({
      stream: `${this.name}-${kind}-${partition}`,
      subject: `${this.name}.${kind}.${partition}.>`,
    }))
  }
}

/** Where it is written how many partitions there are. */
export function versionSpot(name: string): Spot {
  return { stream: `${name}-state-0`, subject: `${name}.state.0.version` }
}

export function checkName(name: string): string {
  if (/^[A-Za-z0-9_-]{1,40}$/.test(name)) return name
  throw new Error(`${JSON.stringify(name)} cannot be the name of the streams: give 1 to 40 letters, digits, '_' or '-'`)
}

/** What a run's subject says of its id. */
export function tokenIn(subject: string): string {
  return subject.slice(subject.lastIndexOf('.') + 1)
}

/** Ids of ours can be part of a subject as they are. */
function tokenOf(id: string): string {
  return /^[A-Za-z0-9_-]{1,100}$/.test(id) ? id : `~${hashOf(id)}`
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 32)
}

/** FNV-1a: must never change, since it says where a run is. */
function partitionOf(text: string, partitions: number): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash >>> 0) % partitions
}
