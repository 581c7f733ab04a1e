/** What the doctor finds out about a store that several nodes share: its version, and what its acknowledgements are worth. */
import { detailOf } from '../../core/model/errors.ts'
import { inspectNatsStore, inspectPostgresStore } from '../../server/inspect-shared.ts'
import { natsText, type NatsConfig } from '../../server/nats-address.ts'
import { type PostgresConfig, withoutPassword } from '../../server/postgres-address.ts'
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
    return [bad('store', `${name}: ${detailOf(cause)}`, 'check the address, and that the server can be reached')]
  }
}

function natsFindings(name: string, { replicas }: NatsConfig, { server, streams, sync }: Nats): Finding[] {
  if (streams === undefined)
    return [note('store', `${name}: nats-server ${server}; there are no streams yet, the first server makes them`)]
  const found = Math.min(...streams.map(({ config }) => config.num_replicas))
  const bytes = streams.reduce((sum, { state }) => sum + state.bytes, 0)
  const text = `${name}: nats-server ${server}, ${streams.length / 2} partitions, ${size(bytes)}`
  return [good('store', text), replicasOf(found, replicas), ...peersOf(streams), ...placementOf(streams), syncOf(sync)]
}

function replicasOf(found: number, wished: number | undefined): Finding {
  if (wished !== undefined && found < wished)
    return bad('replicas', `${found}, and ${wished} are asked for`, 'start a server: it adds replicas where it can')
  return found > 1
    ? good('replicas', `each message is in files of ${found} servers, and acknowledged by a majority of them`)
    : note(
        'replicas',
        'each message is on one server, and gone with its disk',
        'use a cluster of three, and replicas=3',
      )
}

/** Servers that should have a copy, and do not. */
function peersOf(streams: NonNullable<Nats['streams']>): Finding[] {
  return streams.flatMap(({ config, cluster }) => {
    const behind = (cluster?.replicas ?? []).filter(({ current, offline }) => offline === true || !current)
    const leaderless = config.num_replicas > 1 && !cluster?.leader
    if (leaderless) return [bad('stream', `${config.name} has no leader`, 'start enough of its servers for a majority')]
    if (behind.length === 0) return []
    const names = behind.map((peer) => peer.name).join(', ')
    return [
      bad('stream', `${config.name} is not complete on ${names}`, 'start these servers, or wait until they caught up'),
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
    return note(
      'sync',
      'when the servers sync their files is not known',
      'give monitor=http://HOST:8222 in the address',
    )
  if (sync.always) return good('sync', 'files are synced before a message is acknowledged')
  const often = sync.everyMs === undefined ? 'now and then' : `every ${Math.round(sync.everyMs / 1000)} s`
  return note(
    'sync',
    `files are synced ${often}: a power cut of a majority of the servers at once loses what came since`,
    'put them on power supplies of their own, or set jetstream { sync_interval: always }, at about half the appends per second',
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
          'holdfast migrate, or start a server',
        )
  const synced = fsync
    ? good('sync', 'commits are on the disk before they are acknowledged')
    : bad('sync', 'fsync is off: a crash of its machine loses or damages what was acknowledged', 'set fsync = on')
  const replicas =
    standbys === ''
      ? note(
          'replicas',
          'no replica is waited for: a failover can lose what clients have seen',
          'where you fail over, set synchronous_standby_names',
        )
      : good('replicas', `commits wait for ${standbys}`)
  const role = isReplica
    ? [bad('role', 'this server is a replica, and cannot be written to', 'give the address of the primary')]
    : []
  return [store, ...role, synced, replicas]
}
