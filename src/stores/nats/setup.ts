/** Creates missing streams, safe for concurrent nodes, and checks that existing ones match the options. */
import { HoldfastError, detailOf } from '../../core/model/errors.ts'
import { delayUntilAbort } from '../shared/delay.ts'
import { JetStreamError, NoResponders } from './connection/failures.ts'
import { Layout, type SubjectAddress, versionAddress } from './layout.ts'
import type { JetStream } from './connection/jetstream.ts'

export interface RequestedStreams {
  /** Prefix of all streams and subjects. */
  readonly name: string
  /** Replicas of each message. Default: as many as there are servers, up to three. */
  readonly replicas?: number
  /** Only servers with all of these tags. */
  readonly tags?: readonly string[]
  /** Only servers of this cluster. */
  readonly cluster?: string
  /** Pairs of streams that runs are spread over; fixed at creation. Default: 4. */
  readonly partitions?: number
}

/** A JetStream stream, as the server describes it. */
export interface StreamInfo {
  readonly config: {
    readonly name: string
    readonly storage: string
    readonly num_replicas: number
    readonly placement?: { readonly cluster?: string; readonly tags?: readonly string[] }
  }
  readonly state: { readonly messages: number; readonly bytes: number }
  readonly cluster?: {
    readonly name?: string
    readonly leader?: string
    readonly replicas?: readonly { readonly name: string; readonly current: boolean; readonly offline?: boolean }[]
  }
}

/** Version of the storage format, not of the software. */
export const LAYOUT_VERSION = 1
const PARTITIONS = 4
const PARTITIONS_MAX = 256
const REPLICAS_MAX = 5
/** A document and its header must fit. */
const PAYLOAD_MIN = 512 * 1024
const NAME_IN_USE = 10_058
const NO_PEERS = 10_005
const TRIES_MAX = 40
/** A cluster that was just started does not know all its servers for a moment. */
const PEER_TRIES_MAX = 20
const TRY_MS = 250
/** Duplicate window: longer than a message takes to be written. */
const DUPLICATES_NS = 10e9

/** Ensures that the streams exist and are durable enough; throws with the reason otherwise. */
export async function setUp(
  jetstream: JetStream,
  requested: RequestedStreams,
): Promise<{ layout: Layout; streams: StreamInfo[] }> {
  checkServer(jetstream)
  const first = versionAddress(requested.name)
  const stateOfFirst = { stream: first.stream, subject: `${requested.name}.state.0.>` }
  await makeStream(jetstream, stateOfFirst, requested)
  const layout = new Layout(requested.name, await agreeOnPartitions(jetstream, first, requested.partitions))
  const addresses = [...layout.logs, ...layout.states]
  const streams = await Promise.all(addresses.map((address) => makeStream(jetstream, address, requested)))
  return { layout, streams }
}

/** Describes existing streams without creating any; undefined: there are none. */
export async function inspect(jetstream: JetStream, name: string): Promise<StreamInfo[] | undefined> {
  checkServer(jetstream)
  const { stream, subject } = versionAddress(name)
  if ((await infoOf(jetstream, stream)) === undefined) return undefined
  const version = await jetstream.last({ stream, subject })
  if (version === undefined) return undefined
  const { partitions } = readVersion(version.head, name)
  const layout = new Layout(name, partitions)
  const infos = await Promise.all(
    [...layout.logs, ...layout.states].map((address) => infoOf(jetstream, address.stream)),
  )
  return infos.flatMap((info) => info ?? [])
}

function checkServer(jetstream: JetStream): void {
  if (jetstream.maxPayload < PAYLOAD_MIN)
    throw unsupportedSetup(
      `the server accepts messages of at most ${jetstream.maxPayload} bytes: set max_payload to ${PAYLOAD_MIN} or more`,
    )
}

/** The first node decides. Fixed afterwards, because it determines where every run is. */
async function agreeOnPartitions(
  jetstream: JetStream,
  { stream, subject }: SubjectAddress,
  requested: number | undefined,
): Promise<number> {
  if (requested !== undefined && !(Number.isInteger(requested) && requested >= 1 && requested <= PARTITIONS_MAX))
    throw unsupportedSetup(`${requested} is not a valid number of partitions: use 1 to ${PARTITIONS_MAX}`)
  const head = JSON.stringify({ version: LAYOUT_VERSION, partitions: requested ?? PARTITIONS })
  await jetstream.publish({ stream, subject, head, expected: 0 }) // an existing message stays
  const { partitions } = readVersion(
    (await jetstream.last({ stream, subject }))?.head ?? head,
    stream.replace(/-state-0$/, ''),
  )
  if (requested !== undefined && requested !== partitions)
    throw unsupportedSetup(
      `the store has ${partitions} partitions and cannot be changed to ${requested}: omit partitions`,
    )
  return partitions
}

function readVersion(head: string, name: string): { readonly partitions: number } {
  const { version, partitions } = JSON.parse(head) as { version: number; partitions: number }
  if (version <= LAYOUT_VERSION) return { partitions }
  throw unsupportedSetup(
    `the streams ${name} were made by a newer Holdfast (version ${version}; this one knows up to ${LAYOUT_VERSION}); update Holdfast or choose another name`,
  )
}

/** Another node may be creating it, and then it takes a moment until every server knows it. */
async function makeStream(
  jetstream: JetStream,
  address: SubjectAddress,
  requested: RequestedStreams,
): Promise<StreamInfo> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const info =
      (await infoOf(jetstream, address.stream)) ?? (await create(jetstream, address, requested, tries < PEER_TRIES_MAX))
    if (info !== undefined) return check(jetstream, address, info, requested)
    await delayUntilAbort(TRY_MS, jetstream.signal)
  }
  throw unsupportedSetup(
    `the stream ${address.stream} is being created by another node, but does not appear: check that the servers have a leader`,
  )
}

/** Undefined if this server knows no such stream. */
async function infoOf(jetstream: JetStream, stream: string): Promise<StreamInfo | undefined> {
  for (let tries = 0; ; tries++) {
    try {
      return await jetstream.api<StreamInfo>(`STREAM.INFO.${stream}`, {}, 0)
    } catch (cause) {
      const reason = (cause as { cause?: unknown }).cause
      if (reason instanceof JetStreamError && reason.isNoStream) return undefined
      if (tries < TRIES_MAX && !jetstream.signal.aborted) await delayUntilAbort(TRY_MS, jetstream.signal)
      else if (reason instanceof NoResponders)
        throw unsupportedSetup(
          'the server has no JetStream: start it with -js, or with a `jetstream` block in its configuration',
        )
      else throw cause
    }
  }
}

/** Undefined if another node is creating it, or if too few servers are known yet. */
async function create(
  jetstream: JetStream,
  { stream, subject }: SubjectAddress,
  requested: RequestedStreams,
  waitsForPeers: boolean,
): Promise<StreamInfo | undefined> {
  const replicas = requested.replicas ?? (jetstream.isClustered ? 3 : 1)
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > REPLICAS_MAX)
    throw unsupportedSetup(`${replicas} is not a valid number of replicas: use 1 to ${REPLICAS_MAX}`)
  const isLog = stream.includes('-log-')
  const config = {
    name: stream,
    subjects: [subject],
    storage: 'file',
    retention: 'limits',
    discard: 'new',
    num_replicas: replicas,
    max_msgs_per_subject: isLog ? -1 : 1,
    allow_rollup_hdrs: true,
    duplicate_window: DUPLICATES_NS,
    allow_direct: true,
    ...placementOf(requested),
  }
  try {
    return await jetstream.api<StreamInfo>(`STREAM.CREATE.${stream}`, config)
  } catch (cause) {
    const reason = (cause as { cause?: unknown }).cause
    if (reason instanceof JetStreamError && reason.code === NAME_IN_USE) return undefined
    if (reason instanceof JetStreamError && reason.code === NO_PEERS && jetstream.isClustered && waitsForPeers)
      return undefined
    throw unsupportedSetup(
      `cannot create the stream ${stream} with ${replicas} replicas${placementText(requested)}: ${detailOf(reason ?? cause)}`,
    )
  }
}

async function check(
  jetstream: JetStream,
  { stream }: SubjectAddress,
  info: StreamInfo,
  requested: RequestedStreams,
): Promise<StreamInfo> {
  const { storage, num_replicas: found } = info.config
  if (storage !== 'file')
    throw unsupportedSetup(`the stream ${stream} uses ${storage} storage, but Holdfast needs file storage`)
  if (requested.replicas === undefined || found >= requested.replicas) return info
  try {
    const config = { ...info.config, num_replicas: requested.replicas, ...placementOf(requested) }
    return await jetstream.api<StreamInfo>(`STREAM.UPDATE.${stream}`, config)
  } catch (cause) {
    const reason = detailOf((cause as { cause?: unknown }).cause ?? cause)
    throw unsupportedSetup(
      `cannot raise the stream ${stream} from ${found} to ${requested.replicas} replicas: ${reason}`,
    )
  }
}

function placementOf({ cluster, tags }: RequestedStreams): object {
  if (cluster === undefined && tags === undefined) return {}
  return { placement: { ...(cluster !== undefined && { cluster }), ...(tags && { tags }) } }
}

function placementText({ cluster, tags }: RequestedStreams): string {
  return `${cluster === undefined ? '' : ` in the cluster ${cluster}`}${tags ? ` on servers tagged ${tags.join(', ')}` : ''}`
}

function unsupportedSetup(message: string): HoldfastError {
  return new HoldfastError('unsupported', message)
}
