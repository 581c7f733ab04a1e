/** Checks of `holdfast doctor` for a shared store: version, replication and durability. */
import { detailOf } from '../../core/model/errors.ts'
import { inspectNatsStore, inspectPostgresStore } from '../../server/store/inspect-store.ts'
import { natsText, type NatsConfig } from '../../server/store/nats-address.ts'
import { type PostgresConfig, withoutPassword } from '../../server/store/postgres-address.ts'
import { size } from '../terminal/text.ts'
import { bad, type Finding, good, note } from './finding.ts'

type Nats = Awaited<ReturnType<typeof inspectNatsStore>>
type Postgres = Awaited<ReturnType<typeof inspectPostgresStore>>

export async function examineShared(config: NatsConfig | PostgresConfig): Promise<Finding[]> {
  const name = config.kind === 'nats' ? natsText(config) : withoutPassword(config.url)
  try {
    if (config.kind === 'nats') return natsFindings(name, config, await inspectNatsStore(config))
    return postgresFindings(name, await inspectPostgresStore(config))
  } catch (cause) {
    return [bad('store', `${name}: ${detailOf(cause)}`, 'check the address, and that the server is reachable')]
  }
}

function natsFindings(name: string, { replicas }: NatsConfig, { server, streams, sync }: Nats): Finding[] {
  if (streams === undefined)
    return [note('store', `${name}: nats-server ${server}; no streams yet, the first server creates them`)]
  const found = Math.min(...streams.map(({ config }) => config.num_replicas))
  const bytes = streams.reduce((sum, { state }) => sum + state.bytes, 0)
  const text = `${name}: nats-server ${server}, ${streams.length / 2} partitions, ${size(bytes)}`
  return [good('store', text), replicasOf(found, replicas), ...peersOf(streams), ...placementOf(streams), syncOf(sync)]
}

function replicasOf(found: number, wished: number | undefined): Finding {
  if (wished !== undefined && found < wished)
    return bad('replicas', `${found}, but ${wished} are configured`, 'start a server: it adds replicas if possible')
  return found > 1
    ? good('replicas', `each message is stored on ${found} servers and acknowledged by a majority`)
    : note(
        'replicas',
        'each message is stored on one server only, and lost with its disk',
        'use a cluster of three servers, and replicas=3',
      )
}

/** Replicas that are offline or behind. */
function peersOf(streams: NonNullable<Nats['streams']>): Finding[] {
  return streams.flatMap(({ config, cluster }) => {
    const behind = (cluster?.replicas ?? []).filter(({ current, offline }) => offline === true || !current)
    const leaderless = config.num_replicas > 1 && !cluster?.leader
    if (leaderless) return [bad('stream', `${config.name} has no leader`, 'start enough of its servers for a majority')]
    if (behind.length === 0) return []
    const names = behind.map((peer) => peer.name).join(', ')
    return [
      bad(
        'stream',
        `${config.name} is incomplete on ${names}`,
        'start these servers, or wait until they have caught up',
      ),
    ]
  })
}

function placementOf(streams: NonNullable<Nats['streams']>): Finding[] {
  const { cluster, tags } = streams[0]?.config.placement ?? {}
  const where = [
    ...(cluster ? [`in the cluster ${cluster}`] : []),
    ...(tags?.length ? [`on servers tagged ${tags.join(', ')}`] : []),
  ]
  return where.length === 0 ? [] : [good('placement', where.join(' '))]
}

function syncOf(sync: Nats['sync']): Finding {
  if (sync === undefined)
    return note('sync', 'the sync interval of the servers is unknown', 'add monitor=http://HOST:8222 to the address')
  if (sync.always) return good('sync', 'files are synced before a message is acknowledged')
  const often = sync.everyMs === undefined ? 'at an unknown interval' : `every ${Math.round(sync.everyMs / 1000)} s`
  return note(
    'sync',
    `files are synced ${often}: if a majority of the servers lose power at once, writes since the last sync are lost`,
    'use independent power supplies, or set jetstream { sync_interval: always }, which halves append throughput',
  )
}

function postgresFindings(name: string, condition: Postgres): Finding[] {
  const { server, schema, current, fsync, standbys, isReplica } = condition
  const store =
    schema === current
      ? good('store', `${name}: PostgreSQL ${server}, schema ${schema}`)
      : note(
          'store',
          `${name}: PostgreSQL ${server}, schema ${schema} of ${current}`,
          'migrate it with holdfast migrate, or start a server',
        )
  const synced = fsync
    ? good('sync', 'commits are on disk before they are acknowledged')
    : bad('sync', 'fsync is off: a crash of the machine can lose or corrupt acknowledged commits', 'set fsync = on')
  const replicas =
    standbys === ''
      ? note(
          'replicas',
          'replication is asynchronous: a failover can lose events that clients have seen',
          'if you use failover, set synchronous_standby_names',
        )
      : good('replicas', `commits wait for ${standbys}`)
  const role = isReplica ? [bad('role', 'this server is a read-only replica', 'use the address of the primary')] : []
  return [store, ...role, synced, replicas]
}
