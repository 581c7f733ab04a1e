/** Namespaces for concurrent branches of an agent, and the keys that are counted in them. */
import { RunFailure } from './run-failure.ts'
import { enclosureOf } from './perform-work.ts'
import type { ActorScope } from './actor-scope.ts'
import { escapeName, type WorkKind, workRef } from '../recovery/recorded-work.ts'

/** The branches that one context opens. */
export class Branches {
  readonly #scope: ActorScope
  readonly #groups = new Map<string, BranchGroup>()

  constructor(scope: ActorScope) {
    this.#scope = scope
  }

  /** Branches are counted per enclosing work: a recovered run skips completed work, so a run-wide count would differ. */
  open(name: string): ActorScope {
    const { prefix, branch: outer } = this.#scope
    const escaped = escapeName(name)
    const position = `${enclosureOf(this.#scope)?.ref ?? ''} ${escaped}`
    const group = this.#groups.get(position) ?? { count: 0, active: undefined }
    this.#groups.set(position, group)
    const inner = `${numberedName(prefix + escaped, ++group.count)}~/`
    return { ...this.#scope, prefix: inner, branch: new Branch(name, group, outer), counted: countedKeys(inner) }
  }
}

/** A namespace made by `within`. Two branches of one name may follow each other; concurrent ones would be ambiguous after a crash. */
export class Branch {
  readonly #name: string
  readonly #group: BranchGroup
  readonly #outer: Branch | undefined
  #underWay = 0

  constructor(name: string, group: BranchGroup, outer: Branch | undefined) {
    this.#name = name
    this.#group = group
    this.#outer = outer
  }

  enter(): () => void {
    const { active } = this.#group
    if (active !== undefined && active !== this && active.#underWay > 0)
      throw new RunFailure(
        'protocol_violation',
        `two branches named ${this.#name} run concurrently, so their results would be ambiguous after a crash: pass a different name to each \`within\``,
      )
    const left = this.#outer?.enter()
    this.#group.active = this
    this.#underWay++
    return () => {
      this.#underWay--
      left?.()
    }
  }
}

/** All branches of one name in one scope. */
interface BranchGroup {
  count: number
  active: Branch | undefined
}

/** Returns the function that builds a key from name and number. Older logs have no other identity. */
export function countedKeys(prefix: string): (kind: WorkKind, name: string) => string {
  const counts = new Map<string, number>()
  return (kind, name) => {
    const counted = workRef(kind, name)
    const count = (counts.get(counted) ?? 0) + 1
    counts.set(counted, count)
    return numberedName(prefix + name, count)
  }
}

/** The first has the name without a number. */
function numberedName(base: string, count: number): string {
  return count === 1 ? base : `${base}#${count}`
}
