/** Ends of streams, by name. */
import type { Principal } from '../../../core/model/principal.ts'
import { shareEventLoop } from '../../../core/runtime/share-event-loop.ts'
import type { Service } from '../../../core/service.ts'
import { type ClientStreams, isBeingCreated, STREAM_COMPONENT, type StreamConfig } from '../requests/streams.ts'
import type { Tail, Tails } from './model.ts'

/** Concurrent lookups. */
const LOOKUPS_MAX = 8
const PAGE = 200
/** Streams that are looked through for a pattern. */
const SCANNED_MAX = 10_000
/** Runs become visible a little later than they were created. */
const VISIBLE_MS = 60_000

/** Only streams that exist. One that is being created counts from the next look on. */
export async function readTails(streams: ClientStreams, principal: Principal, names: Iterable<string>): Promise<Tails> {
  const tails = new Map<string, Tail>()
  const waiting = [...names]
  const look = async (): Promise<void> => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      await shareEventLoop()
      const found = await streams.find(principal, name).catch(ignoreBeingCreated)
      if (found !== undefined) tails.set(name, { run: found.stored.run.id, tail: found.tail })
    }
  }
  await Promise.all(Array.from({ length: LOOKUPS_MAX }, look))
  return tails
}

function ignoreBeingCreated(cause: unknown): undefined {
  if (!isBeingCreated(cause)) throw cause
}

/** Names of the owner's streams, newest first. `since`: only those created after this, in milliseconds since 1970. */
export async function listNames(service: Service, principal: Principal, since = 0): Promise<readonly string[]> {
  const names: string[] = []
  for (let after: string | undefined; names.length < SCANNED_MAX;) {
    const query = { component: STREAM_COMPONENT, limit: PAGE, ...(after !== undefined && { after }) }
    const { runs, cursor } = await service.list(principal, query)
    const fresh = runs.filter(({ run }) => Date.parse(run.createdAt) >= since - VISIBLE_MS)
    names.push(...fresh.map(({ run }) => (run.metadata!['stream'] as StreamConfig).name))
    if (cursor === undefined || fresh.length < runs.length) break
    after = cursor
  }
  return names
}
