/** The plan of a seed: nodes, runs with their scripts, and faults. It is data, so that a failing plan can be shrunk. */
import type { BusyPolicy, RecoveryPolicy } from '../../src/core/ports/component.ts'
import { Random } from '../support/random.ts'

/** One operation of a scripted agent. `n` is unique within its script. */
export type Op =
  | { readonly kind: 'text'; readonly n: number; readonly count: number }
  | { readonly kind: 'step'; readonly n: number; readonly ms: number; readonly fails: boolean }
  | { readonly kind: 'tool'; readonly n: number; readonly ms: number; readonly idempotent: boolean }
  | { readonly kind: 'ask'; readonly n: number }
  | { readonly kind: 'sleep'; readonly n: number; readonly ms: number }
  | { readonly kind: 'child'; readonly n: number; readonly fails: boolean; readonly ops: readonly Op[] }
  | { readonly kind: 'parallel'; readonly n: number; readonly branches: readonly (readonly Op[])[] }
  | { readonly kind: 'unserializable'; readonly n: number }
  | { readonly kind: 'throw'; readonly n: number }
  | { readonly kind: 'reject'; readonly n: number }

export type Wire = 'native' | ProjectedWire
export type ProjectedWire = 'agentos' | 'responses' | 'chat' | 'a2a' | 'ai-sdk' | 'ag-ui'

export interface RunPlan {
  readonly name: string
  readonly startAt: number
  readonly recovery: RecoveryPolicy
  readonly busy: BusyPolicy
  /** Runs with the same number share a session. */
  readonly session: number
  readonly owner: number
  readonly script: readonly Op[]
  /** Time from the start to the stop. */
  readonly stopAfter?: number
  /** A second start with the same key: of the same body, or of another one. */
  readonly repeat?: 'same' | 'other'
  readonly subscribers: readonly Wire[]
  /** Whether its agent is released while the run is paused. */
  readonly release: boolean
}

export type Fault =
  | { readonly kind: 'crash'; readonly at: number; readonly node: number; readonly forMs: number }
  | { readonly kind: 'drain'; readonly at: number; readonly node: number; readonly forMs: number }
  | { readonly kind: 'pause'; readonly at: number; readonly node: number; readonly forMs: number }
  | { readonly kind: 'partition'; readonly at: number; readonly node: number; readonly forMs: number }
  | { readonly kind: 'outage'; readonly at: number; readonly forMs: number }
  | { readonly kind: 'step'; readonly at: number; readonly node: number; readonly byMs: number }
  | { readonly kind: 'storeStep'; readonly at: number; readonly byMs: number }

export interface Chances {
  /** Probability that a request to the store is not executed. */
  readonly lostRequest: number
  /** Probability that a request is executed and its response lost. */
  readonly lostAnswer: number
  readonly lostHint: number
  readonly doubledHint: number
  readonly lateHint: number
  /** Probability of a response with another run or position than requested. */
  readonly misread: number
  /** Probability that a batch of records is committed in parts. */
  readonly torn: number
  /** Probability that the node crashes while it awaits the store. */
  readonly crashAtAwait: number
  /** Probability that a subscriber disconnects or stops reading when it gets a frame. */
  readonly disconnect: number
  readonly stall: number
  /** Probability that a connection delivers nothing more, unnoticed by both sides. */
  readonly halfOpen: number
}

export interface Plan {
  readonly seed: number
  readonly nodes: number
  readonly slots: number
  readonly latencyMs: number
  readonly runs: readonly RunPlan[]
  readonly faults: readonly Fault[]
  readonly chances: Chances
  /** When faults stop, at the latest. */
  readonly calmAt: number
}

export interface PlanSize {
  readonly nodes: number
  readonly runs: number
}

export const USEFUL_SIZE: PlanSize = { nodes: 3, runs: 20 }

/** Runs are started, and faults happen, within this time. */
const BUSY_MS = 30_000

const CALM: Chances = {
  lostRequest: 0,
  lostAnswer: 0,
  lostHint: 0,
  doubledHint: 0,
  lateHint: 0,
  misread: 0,
  torn: 0,
  crashAtAwait: 0,
  disconnect: 0,
  stall: 0,
  halfOpen: 0,
}

export function planOf(seed: number, size: PlanSize = USEFUL_SIZE): Plan {
  const plan = faultyPlan(seed, size)
  const isCalm = new Random(seed ^ 0x51ed270b).chance(0.1)
  return isCalm ? withoutFaults(plan) : plan
}

/** The same without faults. Lost hints and disconnects are no faults: they must have no effect. */
export function withoutFaults(plan: Plan): Plan {
  const { chances } = plan
  return { ...plan, faults: [], chances: { ...chances, lostRequest: 0, lostAnswer: 0, misread: 0, crashAtAwait: 0 } }
}

export function isFaultless({ faults, chances }: Plan): boolean {
  const { lostRequest, lostAnswer, misread, crashAtAwait } = chances
  return faults.length === 0 && lostRequest + lostAnswer + misread + crashAtAwait === 0
}

function faultyPlan(seed: number, size: PlanSize): Plan {
  const random = new Random(seed)
  for (let warm = 0; warm < 4; warm++) random.next()
  const runs = Array.from({ length: size.runs }, (_, index) => runPlan(random, index))
  const faults = Array.from({ length: random.between(0, 8) }, () => fault(random, size.nodes))
  return {
    seed,
    nodes: size.nodes,
    slots: random.pick([3, 6, 12]),
    latencyMs: random.pick([1, 5, 20, 80]),
    runs,
    faults,
    chances: chancesOf(random),
    calmAt: BUSY_MS + 5000,
  }
}

/** Each kind of fault is absent from half of the seeds: faults that are always there hide what only happens without them. */
function chancesOf(random: Random): Chances {
  const some = (most: number): number => (random.chance(0.5) ? 0 : random.next() * most)
  return {
    ...CALM,
    lostRequest: some(0.03),
    lostAnswer: some(0.03),
    lostHint: some(0.5),
    doubledHint: some(0.3),
    lateHint: some(0.3),
    misread: some(0.01),
    torn: some(0.3),
    crashAtAwait: some(0.002),
    disconnect: some(0.1),
    stall: some(0.1),
    halfOpen: some(0.02),
  }
}

function fault(random: Random, nodes: number): Fault {
  const at = random.between(500, BUSY_MS)
  const node = random.between(0, nodes - 1)
  switch (random.between(0, 9)) {
    case 0:
    case 1:
    case 2:
      return { kind: 'crash', at, node, forMs: random.between(0, 15_000) }
    case 3:
      return { kind: 'drain', at, node, forMs: random.between(0, 5000) }
    case 4:
    case 5:
      return { kind: 'pause', at, node, forMs: random.pick([500, 4000, 12_000, 120_000]) }
    case 6:
      return { kind: 'partition', at, node, forMs: random.between(100, 15_000) }
    case 7:
      return { kind: 'outage', at, forMs: random.between(100, 15_000) }
    case 8:
      return { kind: 'step', at, node, byMs: random.pick([-20_000, -3000, 3000, 20_000]) }
    default:
      return { kind: 'storeStep', at, byMs: random.pick([-2000, 3000, 20_000]) }
  }
}

function runPlan(random: Random, index: number): RunPlan {
  const counter = { n: 0 }
  const owner = random.between(0, 2)
  return {
    name: `r${index}`,
    startAt: random.between(0, BUSY_MS / 2),
    recovery: random.pick(['fail', 'retry', 'resume', 'resume', 'resume']),
    busy: random.pick(['parallel', 'parallel', 'parallel', 'enqueue', 'reject', 'interrupt']),
    session: owner * 10 + random.between(0, 3),
    owner,
    script: script(random, counter, random.between(2, 7), 0),
    ...(random.chance(0.15) && { stopAfter: random.between(0, 20_000) }),
    ...(random.chance(0.2) && { repeat: random.pick(['same', 'same', 'other'] as const) }),
    subscribers: subscribers(random),
    release: random.chance(0.3),
  }
}

const PROJECTED: readonly ProjectedWire[] = ['agentos', 'responses', 'chat', 'a2a', 'ai-sdk', 'ag-ui']

function subscribers(random: Random): readonly Wire[] {
  if (random.chance(0.25)) return ['native', random.pick(PROJECTED)]
  return ['native']
}

function script(random: Random, counter: { n: number }, length: number, depth: number): Op[] {
  const ops: Op[] = []
  for (let at = 0; at < length; at++) {
    const op = opOf(random, counter, depth)
    ops.push(op)
    if (op.kind === 'throw' || op.kind === 'reject' || op.kind === 'unserializable') break
  }
  return ops
}

function opOf(random: Random, counter: { n: number }, depth: number): Op {
  const n = counter.n++
  const chance = random.between(0, 99)
  if (chance < 36) return { kind: 'text', n, count: random.between(1, depth === 0 ? 120 : 8) }
  if (chance < 52) return { kind: 'step', n, ms: random.between(0, 2000), fails: random.chance(0.15) }
  if (chance < 66) return { kind: 'tool', n, ms: random.between(0, 2000), idempotent: random.chance(0.5) }
  if (chance < 74) return { kind: 'ask', n }
  if (chance < 80) return { kind: 'sleep', n, ms: random.pick([20, 500, 1500, 6000]) }
  if (depth < 2 && chance < 88)
    return { kind: 'child', n, fails: random.chance(0.25), ops: plainOps(random, counter, depth + 1) }
  if (depth < 2 && chance < 96)
    return {
      kind: 'parallel',
      n,
      branches: Array.from({ length: random.between(2, 3) }, () => plainOps(random, counter, depth + 1)),
    }
  if (depth > 0) return { kind: 'text', n, count: 2 }
  return { kind: random.pick(['unserializable', 'throw', 'reject'] as const), n }
}

/** Within a branch or a called component. */
function plainOps(random: Random, counter: { n: number }, depth: number): Op[] {
  return script(random, counter, random.between(1, 3), depth)
}
