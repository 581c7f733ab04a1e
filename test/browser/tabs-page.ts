/** Page of the tabs test: follows runs, and stores their events for the test. */
import { type ClientOptions, createClient, type LoggedEvent } from '../../src/client/index.ts'

export interface TabsPage {
  /** Follows a run; its events are in `seen`, by run id. */
  watch(id: string, options?: ClientOptions): void
  /** Sends another request of the page to the server. */
  statusOf(id: string): Promise<string>
  readonly seen: Record<string, LoggedEvent[]>
  readonly ended: Record<string, string>
}

const seen: TabsPage['seen'] = {}
const ended: TabsPage['ended'] = {}
const client = createClient()

async function follow(id: string, options?: ClientOptions): Promise<void> {
  const events = (seen[id] = [] as LoggedEvent[])
  try {
    const watching = options === undefined ? client : createClient(options)
    for await (const event of watching.runs.events(id)) events.push(event)
    ended[id] = 'whole'
  } catch (cause) {
    ended[id] = String(cause)
  }
}

const page: TabsPage = {
  seen,
  ended,
  watch: (id, options) => void follow(id, options),
  statusOf: async (id) => (await client.runs.get(id)).status,
}

Object.assign(globalThis, { page })
