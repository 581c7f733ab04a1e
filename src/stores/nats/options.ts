/** Options of the NATS store. They name no type of the optional package. */
import type { Clock } from '../../core/ports/clock.ts'
import type { Logger } from '../../core/ports/logger.ts'

/** Options of `openNatsStore`. */
export interface OpenNatsOptions {
  /** `host:port` of one or more servers of a cluster. The client discovers the others. */
  readonly servers: readonly string[]
  /** Default: none. */
  readonly user?: string
  /** Default: none. */
  readonly password?: string
  /** Default: none. */
  readonly token?: string
  /** Require TLS. Default: false. */
  readonly tls?: boolean
  /** Prefix of all stream names. Default: `holdfast`. */
  readonly name?: string
  /** Number of servers that store each message. Default: 3 in a cluster, 1 on a single server. */
  readonly replicas?: number
  /** Pairs of streams over which runs are spread; fixed at creation. Default: 4. */
  readonly partitions?: number
  /** Cluster and server tags on which the streams are placed. Default: the servers choose. */
  readonly cluster?: string
  /** Default: none. */
  readonly tags?: readonly string[]
  /** Refuse servers that acknowledge a message before its file is synced, according to the server at `monitor`. Default: any server is accepted. */
  readonly sync?: 'always'
  /** `http://host:port`: the monitoring endpoint of a server. Default: none. */
  readonly monitor?: string
  /** Timeout of one request attempt. Default: 2,000. */
  readonly requestTimeoutMs?: number
  /** How long appends are retried while no server is reachable, before this node gives up their runs. Default: 60,000. */
  readonly outageTimeoutMs?: number
  /** Clock that leases are measured with. Default: the servers' time. */
  readonly clock?: Clock
  /** Receives reports for operators, such as replicas that differ. Default: silent. */
  readonly logger?: Logger
}
