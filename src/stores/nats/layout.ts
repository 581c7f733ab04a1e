/**
 * Names of streams and subjects. Each partition has two streams: `log`, append-only, with one subject per run; and `state`,
 * which stores the last message of each subject: documents, lanes, keys, owners, and parts of large messages.
 */
import { createHash } from 'node:crypto'

/** A subject and its stream. */
export interface SubjectAddress {
  readonly stream: string
  readonly subject: string
}

/** Cannot be the token of a run. */
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

  get logs(): readonly SubjectAddress[] {
    return this.#all('log')
  }

  get states(): readonly SubjectAddress[] {
    return this.#all('state')
  }

  run(id: string): SubjectAddress {
    return this.#address('log', id, tokenOf(id))
  }

  /** Subject in a run's stream for barrier messages (see read-barriers.ts). */
  barrier({ stream, subject }: SubjectAddress): SubjectAddress {
    return { stream, subject: `${subject.split('.').slice(0, 3).join('.')}.${BARRIER}` }
  }

  /** Subject of a state entry that several strings identify. */
  state(kind: StateKind, ...names: readonly string[]): SubjectAddress {
    const token = hashOf(JSON.stringify(names))
    return this.#address('state', token, `${kind}.${token}`)
  }

  part(run: string, name: string, number: number): SubjectAddress {
    return this.#address('state', run, `part.${tokenOf(run)}.${name}.${number}`)
  }

  /** All parts of a run's messages. */
  parts(run: string): SubjectAddress {
    return this.#address('state', run, `part.${tokenOf(run)}.>`)
  }

  #address(kind: 'log' | 'state', hashed: string, rest: string): SubjectAddress {
    const partition = partitionOf(hashed, this.partitions)
    return { stream: `${this.name}-${kind}-${partition}`, subject: `${this.name}.${kind}.${partition}.${rest}` }
  }

  #all(kind: 'log' | 'state'): SubjectAddress[] {
    return Array.from({ length: this.partitions }, (_, partition) => ({
      stream: `${this.name}-${kind}-${partition}`,
      subject: `${this.name}.${kind}.${partition}.>`,
    }))
  }
}

/** Subject that stores the number of partitions. */
export function versionAddress(name: string): SubjectAddress {
  return { stream: `${name}-state-0`, subject: `${name}.state.0.version` }
}

export function checkName(name: string): string {
  if (/^[A-Za-z0-9_-]{1,40}$/.test(name)) return name
  throw new Error(`${JSON.stringify(name)} is not a valid stream prefix: use 1 to 40 letters, digits, '_' or '-'`)
}

/** The token of the run's id in its subject. */
export function tokenIn(subject: string): string {
  return subject.slice(subject.lastIndexOf('.') + 1)
}

/** Generated ids are valid subject tokens; others are hashed. */
function tokenOf(id: string): string {
  return /^[A-Za-z0-9_-]{1,100}$/.test(id) ? id : `~${hashOf(id)}`
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 32)
}

/** FNV-1a. Must never change: it decides which partition a run is in. */
function partitionOf(text: string, partitions: number): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash >>> 0) % partitions
}
