/** Every bound of the system, with its unit in its name. */
export interface Limits {
  /** Largest serialized event. A larger one fails its run (EVT-1). Default: 4 MiB. */
  readonly maxEventBytes: number
  /** Deepest nesting of a value inside an event. Default: 200. */
  readonly maxEventDepth: number
  /** Maximum uncommitted events of one run before its agent must wait (backpressure). Default: 512. */
  readonly maxPendingEvents: number
  /** Maximum uncommitted characters of one run before its agent must wait (backpressure). Default: 524,288. */
  readonly maxPendingChars: number
  /** Maximum bytes of one read of the log. Default: 256 KiB. */
  readonly maxReadBytes: number
  /** Events in one JSON page. Default: 1,000. */
  readonly maxPageEvents: number
  /** Bytes of a run's log that are folded into one answer; of a longer log only a stream is served. Default: 64 MiB. */
  readonly maxFoldBytes: number
  /**
   * Bytes of logs whose views this node keeps, so that a subscriber of a protocol other than the native one need not wait for a fold from the first
   * event. The least recently used are folded again when needed.
   * Default: 128 MiB.
   */
  readonly maxViewBytes: number
  /** Bytes of views that open streams, and folds under way, hold on this node besides those. Beyond it the largest ones are ended. Default: 512 MiB. */
  readonly maxHeldViewBytes: number
  /** Folds of long logs under way on this node; half of them may be of one owner. Default: 16. */
  readonly maxConcurrentFolds: number
  /** Folds that wait for one of these; half of them may be of one owner. Default: 1,000. */
  readonly maxQueuedFolds: number
  /** How long one waits before it is refused. Default: 10 seconds. */
  readonly foldQueueTimeoutMs: number
  /** Bytes of one answer that lists what several runs or documents hold; what does not fit is on the next page. Default: 4 MiB. */
  readonly maxResponseBytes: number
  /** Runs in one page of a listing. Default: 200. */
  readonly maxPageRuns: number
  /** Documents in one page of a listing. Default: 200. */
  readonly maxPageDocuments: number
  /** Runs executed at once by this node. Default: 2,000. */
  readonly maxConcurrentRuns: number
  /** Runs of one principal executed at once by this node; 0 is half of `maxConcurrentRuns`. Default: 0. */
  readonly maxRunsPerPrincipal: number
  /** Runs that one principal may start per second, on this node, in the long run; 0 is no limit. Default: 200. */
  readonly maxStartsPerSecond: number
  /** Burst size of `maxStartsPerSecond`. Default: 2,000. */
  readonly maxStartBurst: number
  /** Requests of one principal per second, on this node, in the long run; 0 is no limit. Default: 1,000. */
  readonly maxRequestsPerSecond: number
  /** Burst size of `maxRequestsPerSecond`. Default: 5,000. */
  readonly maxRequestBurst: number
  /** Requests of one address per second, on this node, without a credential known to be valid; 0 is no limit. Default: 1,000. */
  readonly maxRequestsPerAddress: number
  /** Burst size of `maxRequestsPerAddress`. Default: 5,000. */
  readonly maxRequestBurstPerAddress: number
  /** Open event streams of one principal on this node. Default: 5,000. */
  readonly maxStreamsPerPrincipal: number
  /** Requests with a wrong credential that one address may make at once; from then on one per second. Default: 20. */
  readonly maxLoginFailureBurst: number
  /** Bytes that one principal may have stored before its starts and document writes are refused; 0 is no limit. Default: 0. */
  readonly maxStoredBytesPerPrincipal: number
  /** Documents of one principal, sessions included; 0 is no limit. Default: 0. */
  readonly maxDocumentsPerPrincipal: number
  /** Push notification configurations of one task. Default: 10. */
  readonly maxWebhooksPerTask: number
  /** Push notification configurations of one principal. Default: 100. */
  readonly maxWebhooksPerPrincipal: number
  /** Share links of one run. Default: 100. */
  readonly maxSharesPerRun: number
  /** Share links of one principal. Default: 10,000. */
  readonly maxSharesPerPrincipal: number
  /** Maximum queued runs; further starts are refused. One owner may use at most the remaining capacity. Default: 20,000. */
  readonly maxQueuedRuns: number
  /** Paused agents kept in memory. Beyond that the oldest is evicted, and rebuilt from its log when it is resumed. Default: 1,000. */
  readonly maxParkedRuns: number
  /** Maximum long-sleeping runs of this node that give up their slots. Further runs keep them. Default: 10,000. */
  readonly maxSleepingRuns: number
  /** Open event streams of one run on this node. Default: 10,000. */
  readonly maxSubscribersPerRun: number
  /** A subscriber that reads no byte for this long is disconnected; it can resume with its cursor. Default: 30 seconds. */
  readonly subscriberStallTimeoutMs: number
  /** Idle time after which an open stream sends a heartbeat. Default: 15 seconds. */
  readonly heartbeatIntervalMs: number
  /** Reconnect delay suggested to clients. Default: 1 second. */
  readonly retryDelayMs: number
  /** How long a lost hint can go unnoticed: the log is polled at this interval, regardless of hints. Default: 1 second. */
  readonly pollIntervalMs: number
  /** Longest wait of one long-poll request. Default: 30 seconds. */
  readonly longPollTimeoutMs: number
  /** How long a store may take to answer before a node reports that it is not ready. Default: 2 seconds. */
  readonly storeProbeTimeoutMs: number
  /** A lease not renewed for this long may be taken over by another worker. Default: 10 seconds. */
  readonly leaseMs: number
  /** In a shared store: how long a run that this node does not serve is left to other nodes before it is failed. Default: 1 hour. */
  readonly unservedTimeoutMs: number
  /** How long a recovered run may go without requesting recorded work before it counts as diverged. Default: 30 seconds. */
  readonly replayWaitMs: number
  /** Concurrent steps, tools, calls and questions of one run. Default: 1,000. */
  readonly maxWorkInFlight: number
  /** Steps, tools, calls and questions in the whole life of a run. Default: 100,000. */
  readonly maxTotalWork: number
  /** Calls of components in the whole life of a run. Default: 10,000. */
  readonly maxTotalCalls: number
  /** Attempts that may be interrupted in a row without progress before the run fails for good. Default: 3. */
  readonly maxAttempts: number
  /** Interruptions in the whole life of a run, progress or not, before it fails for good. Default: 100. */
  readonly maxInterruptions: number
  /**
   * How long an interrupted run that executes again counts as a suspect: this long if it makes progress, four times as long with
   * each interruption in a row if it does not. At most half of the suspects execute at once (RUN-6).
   * Default: 5 seconds.
   */
  readonly suspectMs: number
  /** Maximum execution time since the run last started or was answered; sleep does not count. Default: 24 hours. */
  readonly runTimeoutMs: number
  /** Longest silence of an agent that is neither paused nor finished. Default: 15 minutes. */
  readonly runIdleTimeoutMs: number
  /** How long an agent may ignore its abort signal before its run is ended without it. Default: 5 seconds. */
  readonly stopGraceMs: number
  /**
   * How long the event loop may be blocked before a watchdog thread finds out whose code blocks it, and writes that to stderr; 0 is
   * no watchdog.
   * Default: 0.
   */
  readonly loopBlockedMs: number
  /** How long shutdown waits for running runs before it hands them over. Default: 10 seconds. */
  readonly drainTimeoutMs: number
  /** Largest request body. Default: 4 MiB. */
  readonly maxBodyBytes: number
  /** Largest metadata of a run: every listing carries it. Default: 64 KiB. */
  readonly maxMetadataBytes: number
  /** Largest body of a document. Default: 256 KiB. */
  readonly maxDocumentBytes: number
  /** Largest request head. Default: 16 KiB. */
  readonly maxHeaderBytes: number
  /** Open connections of this node. Default: 20,000. */
  readonly maxConnections: number
  /** Open connections of one address (IPv4 address or IPv6 /64) to this node. Default: 10,000. */
  readonly maxConnectionsPerAddress: number
  /** WebSockets of this node that have not authenticated yet. Default: 1,000. */
  readonly maxLogins: number
  /** WebSockets of one address that have not authenticated yet. Default: 100. */
  readonly maxLoginsPerAddress: number
  /** How long a WebSocket has to authenticate if a credential is required. Default: 10 seconds. */
  readonly loginTimeoutMs: number
  /** Largest message of a WebSocket before it has authenticated. Default: 8 KiB. */
  readonly maxLoginBytes: number
  /** How long the message of a gRPC call may take to arrive. Default: 20 seconds. */
  readonly messageTimeoutMs: number
  /** Longest session id, idempotency key, component id, document id and title. Default: 256. */
  readonly maxNameChars: number
  /** Default maximum of messages from a session's earlier runs that a component gets. Default: 50. */
  readonly maxHistoryMessages: number
  /** Default maximum of bytes of these messages. Default: 128 KiB. */
  readonly maxHistoryBytes: number
  /** Maximum log bytes that are read to find these messages. Default: 8 MiB. */
  readonly maxHistoryReadBytes: number
  /** Finished runs are trimmed of their events when older than this; 0 keeps them for ever. Default: 0. */
  readonly retainMs: number
  /** Finished runs are removed, with their idempotency keys and idle sessions, when older than this; 0 keeps them for ever. Default: 0. */
  readonly retainRunsMs: number
  /** While more than this is stored, the owners with the most are trimmed to a common level; 0 is no bound. Default: 0. */
  readonly maxRetainedBytes: number
}

const KiB = 1024
const MiB = 1024 * KiB
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

export const defaultLimits: Limits = {
  maxEventBytes: 4 * MiB,
  maxEventDepth: 200,
  maxPendingEvents: 512,
  maxPendingChars: 512 * KiB,
  maxReadBytes: 256 * KiB,
  maxPageEvents: 1000,
  maxFoldBytes: 64 * MiB,
  maxViewBytes: 128 * MiB,
  maxHeldViewBytes: 512 * MiB,
  maxConcurrentFolds: 16,
  maxQueuedFolds: 1000,
  foldQueueTimeoutMs: 10 * SECOND,
  maxResponseBytes: 4 * MiB,
  maxPageRuns: 200,
  maxPageDocuments: 200,
  maxConcurrentRuns: 2000,
  maxRunsPerPrincipal: 0,
  maxStartsPerSecond: 200,
  maxStartBurst: 2000,
  maxRequestsPerSecond: 1000,
  maxRequestBurst: 5000,
  maxRequestsPerAddress: 1000,
  maxRequestBurstPerAddress: 5000,
  maxStreamsPerPrincipal: 5000,
  maxLoginFailureBurst: 20,
  maxStoredBytesPerPrincipal: 0,
  maxDocumentsPerPrincipal: 0,
  maxWebhooksPerTask: 10,
  maxWebhooksPerPrincipal: 100,
  maxSharesPerRun: 100,
  maxSharesPerPrincipal: 10_000,
  maxQueuedRuns: 20_000, // one owner alone may have half of them
  maxParkedRuns: 1000,
  maxSleepingRuns: 10_000,
  maxSubscribersPerRun: 10_000,
  subscriberStallTimeoutMs: 30 * SECOND,
  heartbeatIntervalMs: 15 * SECOND,
  retryDelayMs: 1 * SECOND,
  pollIntervalMs: 1 * SECOND,
  longPollTimeoutMs: 30 * SECOND,
  storeProbeTimeoutMs: 2 * SECOND,
  leaseMs: 10 * SECOND, // with the look every third of it, a dead worker's runs are taken over within 15 seconds
  unservedTimeoutMs: 1 * HOUR,
  replayWaitMs: 30 * SECOND,
  maxWorkInFlight: 1000,
  maxTotalWork: 100_000,
  maxTotalCalls: 10_000,
  maxAttempts: 3,
  maxInterruptions: 100,
  suspectMs: 5 * SECOND,
  runTimeoutMs: 24 * HOUR,
  runIdleTimeoutMs: 15 * MINUTE,
  stopGraceMs: 5 * SECOND,
  loopBlockedMs: 0, // the command line has one: it owns its process
  drainTimeoutMs: 10 * SECOND,
  maxBodyBytes: 4 * MiB,
  maxMetadataBytes: 64 * KiB,
  maxDocumentBytes: 256 * KiB,
  maxHeaderBytes: 16 * KiB,
  maxConnections: 20_000,
  maxConnectionsPerAddress: 10_000, // half of them: all clients of a reverse proxy share its address
  maxLogins: 1000,
  maxLoginsPerAddress: 100,
  loginTimeoutMs: 10 * SECOND,
  maxLoginBytes: 8 * KiB,
  messageTimeoutMs: 20 * SECOND,
  maxNameChars: 256,
  maxHistoryMessages: 50,
  maxHistoryBytes: 128 * KiB,
  maxHistoryReadBytes: 8 * MiB,
  retainMs: 0,
  retainRunsMs: 0,
  maxRetainedBytes: 0,
}

/** The content of one run may be so many times `maxResponseBytes`: a run's text is often in its output too. */
export const CONTENT_LIMIT_FACTOR = 2
