/** Sleeps of an agent. The log records when a long one ends, so that a recovered run sleeps only for the rest. */
import { enclosureOf, perform, request } from './perform-work.ts'
import { SLOT_KEPT_MS_MAX } from './sleep-detector.ts'
import { record, type ActorScope } from './actor-scope.ts'
import { delay } from '../runtime/timer.ts'

/** Shorter sleeps are not recorded: an agent that paces its output would fill the log with them. */
const RECORDED_MS_MIN = 1000

/** Sleeps until a time, in milliseconds since 1970. */
export function sleepUntil(scope: ActorScope, until: number): Promise<void> {
  return sleep(scope, until - scope.host.clock.now(), until)
}

export async function sleep(scope: ActorScope, milliseconds: number, until?: number): Promise<void> {
  if (typeof milliseconds !== 'number' || Number.isNaN(milliseconds))
    throw new TypeError(`sleep needs a number of milliseconds, not ${String(milliseconds)}`)
  const { host, actor, signal } = scope
  signal.throwIfAborted()
  if (milliseconds < RECORDED_MS_MIN && until === undefined) {
    if (!isReplaying(scope)) await sleepFor(scope, milliseconds)
  } else if (host.ledger.hasLegacy && host.isReplaying(actor)) {
    return // such a log has no sleeps
  } else {
    const input = until === undefined ? { milliseconds: finite(milliseconds) } : { until: finite(until) }
    await recordedSleep(scope, input, until ?? host.clock.now() + milliseconds)
  }
}

/** Whether the code is replaying, as far as is known. */
function isReplaying(scope: ActorScope): boolean {
  const { host, actor } = scope
  return host.isReplaying(actor) || host.ledger.isBehind || enclosureOf(scope)?.isRevisited === true
}

/** JSON has no Infinity. */
function finite(milliseconds: number): number {
  return Math.min(milliseconds, LAST_MS)
}

async function recordedSleep(scope: ActorScope, input: object, until: number): Promise<void> {
  const { host } = scope
  const work = request(scope, { kind: 'sleep', name: 'sleep', input })
  const known = work.record?.until
  if (known === undefined && work.enclosure?.isRevisited === true) return
  const wake = known ?? finite(until)
  const rest = wake - host.clock.now()
  const go = async (): Promise<void> => {
    if (known === undefined)
      await record(scope, 'sleep.started', { until: new Date(wake).toISOString(), key: work.key, ...work.marks })
    await sleepFor(scope, wake - host.clock.now())
  }
  // A length that varies between attempts must not fail a run: a short sleep is repeated, a long one waits for the replay.
  if (known !== undefined || rest <= host.replayWaitMs) return go()
  await perform(scope, work, { isExclusive: false }, go)
}

async function sleepFor(scope: ActorScope, milliseconds: number): Promise<void> {
  const { host, signal } = scope
  const endSleep = host.startSleep()
  const pause = delay(milliseconds, signal, host.clock)
  try {
    if (milliseconds <= SLOT_KEPT_MS_MAX) await pause
    else await host.rest.sleep(enclosureOf(scope), pause, signal)
  } finally {
    endSleep()
  }
}

/** The latest time that a `Date` can represent. */
const LAST_MS = 8.64e15
