/** Cluster store on NATS JetStream (nats-server 2.11 or later), for any number of nodes. */
import type { Clock } from '../../core/ports/clock.ts'
import { type Logger, silentLogger } from '../../core/ports/logger.ts'
import { optionalPackage } from '../../core/runtime/optional-package.ts'
import type { Store } from '../../core/ports/store.ts'
import { Alarms } from './alarms.ts'
import { checkName } from './layout.ts'
import type { Nats } from './connecting.ts'
import { Link } from './link.ts'
import { inspect, setUp, type StreamInfo } from './setup.ts'
import { NatsStore } from './store.ts'
import { expectSyncAlways, syncPolicyAt, type SyncPolicy } from './sync-policy.ts'

export interface OpenNatsOptions {
  /** `host:port` of one or more servers of a cluster. The client discovers the others. */
  readonly servers: readonly string[]
  readonly user?: string
  readonly password?: string
  readonly token?: string
  readonly tls?: boolean
  /** Prefix of all stream names. Default: `holdfast`. */
  readonly name?: string
  /** Number of servers that store each message. Default: 3 in a cluster, 1 on a single server. */
  readonly replicas?: number
  /** Pairs of streams over which runs are spread; fixed at creation. Default: 4. */
  readonly partitions?: number
  /** Cluster and server tags on which the streams are placed. */
  readonly cluster?: string
  readonly tags?: readonly string[]
  /** Refuse servers that acknowledge a message before its file is synced, according to the server at `monitor`. */
  readonly sync?: 'always'
  /** `http://host:port`: the monitoring endpoint of a server. */
  readonly monitor?: string
  /** Timeout of one request attempt. Default: 2,000. */
  readonly requestTimeoutMs?: number
  /** How long appends are retried while no server is reachable, before this node gives up their runs. Default: 60,000. */
  readonly outageTimeoutMs?: number
  /** Clock that leases are measured with. Default: the servers' time. */
  readonly clock?: Clock
  /** Receives reports for operators, such as replicas that differ. */
  readonly logger?: Logger
}

export async function openNatsStore(options: OpenNatsOptions): Promise<Store> {
  const { outageTimeoutMs = 60_000, clock, name = 'holdfast', logger = silentLogger } = options
  if (options.sync === 'always') await expectSyncAlways(options.monitor ?? '')
  const alarms = new Alarms(logger)
  const link = await openLink(options, alarms)
  try {
    const { layout, streams } = await setUp(link, { ...options, name: checkName(name) })
    const isReplicated = streams.some(({ config }) => config.num_replicas > 1)
    await link.state(layout.states[0]!.stream) // learns the servers' time before anything is written
    const now = (): number => clock?.now() ?? link.time.now()
    return await NatsStore.open({ link, layout, isReplicated, outageTimeoutMs, now, alarms })
  } catch (cause) {
    await link.close()
    throw cause
  }
}

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
  const link = await openLink(options, new Alarms(silentLogger))
  try {
    const streams = await inspect(link, checkName(options.name ?? 'holdfast'))
    const sync = options.monitor === undefined ? undefined : await syncPolicyAt(options.monitor)
    return { server: link.serverVersion, isClustered: link.isClustered, streams, sync }
  } finally {
    await link.close()
  }
}

async function openLink(
  { servers, user, password, token, tls, requestTimeoutMs = 2000 }: OpenNatsOptions,
  alarms: Alarms,
): Promise<Link> {
  return Link.open(await loadNats(), {
    servers,
    requestTimeoutMs,
    onDiverged: (stream, reason) => alarms.diverged(stream, reason),
    onUnfit: (fault) => alarms.server(fault),
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
