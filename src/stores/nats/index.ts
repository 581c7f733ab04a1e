/** Cluster store on NATS JetStream (nats-server 2.11 or later), for any number of nodes. */
import { silentLogger } from '../../core/ports/logger.ts'
import { optionalPackage } from '../../core/runtime/optional-package.ts'
import type { Store } from '../../core/ports/store.ts'
import { Alarms } from './following/alarms.ts'
import { checkName } from './layout.ts'
import type { Nats } from './connection/connect.ts'
import { JetStream } from './connection/jetstream.ts'
import type { OpenNatsOptions } from './options.ts'
import { inspect, setUp, type StreamInfo } from './setup.ts'
import { NatsStore } from './store.ts'
import { expectSyncAlways, syncPolicyAt, type SyncPolicy } from './connection/sync-policy.ts'

export type { OpenNatsOptions, StreamInfo, SyncPolicy }

/**
 * Opens a store on NATS JetStream (nats-server 2.11 or later), for any number of nodes.
 *
 * @example
 * ```ts
 * const store = await openNatsStore({ servers: ['127.0.0.1:4222'] })
 * ```
 */
export async function openNatsStore(options: OpenNatsOptions): Promise<Store> {
  const { outageTimeoutMs = 60_000, clock, name = 'holdfast', logger = silentLogger } = options
  if (options.sync === 'always') await expectSyncAlways(options.monitor ?? '')
  const alarms = new Alarms(logger)
  const jetstream = await openLink(options, alarms)
  try {
    const { layout, streams } = await setUp(jetstream, { ...options, name: checkName(name) })
    const isReplicated = streams.some(({ config }) => config.num_replicas > 1)
    await jetstream.state(layout.states[0]!.stream) // learns the servers' time before anything is written
    const now = (): number => clock?.now() ?? jetstream.time.now()
    return await NatsStore.open({ jetstream, layout, isReplicated, outageTimeoutMs, now, alarms })
  } catch (cause) {
    await jetstream.close()
    throw cause
  }
}

/** What a NATS server says about itself and Holdfast's streams. */
export interface NatsCondition {
  readonly server: string
  readonly isClustered: boolean
  /** Undefined if there are none yet. */
  readonly streams: readonly StreamInfo[] | undefined
  /** Undefined without a monitoring endpoint. */
  readonly sync: SyncPolicy | undefined
}

/** Read-only inspection of servers and streams. */
export async function inspectNats(options: OpenNatsOptions): Promise<NatsCondition> {
  const jetstream = await openLink(options, new Alarms(silentLogger))
  try {
    const streams = await inspect(jetstream, checkName(options.name ?? 'holdfast'))
    const sync = options.monitor === undefined ? undefined : await syncPolicyAt(options.monitor)
    return { server: jetstream.serverVersion, isClustered: jetstream.isClustered, streams, sync }
  } finally {
    await jetstream.close()
  }
}

async function openLink(
  { servers, user, password, token, tls, requestTimeoutMs = 2000 }: OpenNatsOptions,
  alarms: Alarms,
): Promise<JetStream> {
  return JetStream.open(await loadNats(), {
    servers,
    requestTimeoutMs,
    onDiverged: (stream, reason) => alarms.diverged(stream, reason),
    onUnsupportedServer: (fault) => alarms.server(fault),
    ...(user !== undefined && { user }),
    ...(password !== undefined && { pass: password }),
    ...(token !== undefined && { token }),
    ...(tls !== undefined && { tls }),
  })
}

function loadNats(): Promise<Nats> {
  const name = '@nats-io/transport-node'
  return optionalPackage(
    'the NATS store',
    name,
    () => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ '@nats-io/transport-node'),
  )
}
