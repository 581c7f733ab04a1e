/** Every limit of the system, with its default. */
export interface Limits {
  // Events and logs

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

  // Runs of one node

  /** Maximum runs that this node executes concurrently. Default: 2,000. */
  readonly maxConcurrentRuns: number
  /** Maximum queued runs. Further starts are refused. One owner can fill at most half of the queue. Default: 20,000. */
  readonly maxQueuedRuns: number
  /** Maximum paused agents in memory. Beyond it, the oldest is evicted and rebuilt from its log when it is resumed. Default: 1,000. */
  readonly maxParkedRuns: number
  /** Maximum sleeping runs of this node that release their worker slots. Further sleeping runs keep theirs. Default: 10,000. */
  readonly maxSleepingRuns: number
  /** Maximum metadata of a run, which every listing contains. Default: 64 KiB. */
  readonly maxMetadataBytes: number

  // One run

  /** Maximum concurrent steps, tools, calls and questions of one run. Default: 1,000. */
  readonly maxConcurrentWork: number
  /** Maximum steps, tools, calls and questions of one run in total. Default: 100,000. */
  readonly maxTotalWork: number
  /** Maximum component calls of one run in total. Default: 10,000. */
  readonly maxTotalCalls: number
  /** Maximum execution time since the run last started or was answered; sleep does not count. Default: 24 hours. */
  readonly runTimeoutMs: number
  /** How long an agent that is neither paused nor finished may be silent. Default: 15 minutes. */
  readonly runIdleTimeoutMs: number
  /** How long an agent may ignore its abort signal before its run is ended without it. Default: 5 seconds. */
  readonly stopGraceMs: number

  // Leases and recovery

  /** A lease not renewed for this long may be taken over by another worker. Default: 10 seconds. */
  readonly leaseMs: number
  /** In a shared store: how long a run whose component no node serves may wait before it fails. Default: 1 hour. */
  readonly unservedTimeoutMs: number
  /** How long a recovered run may go without requesting recorded work before it counts as diverged. Default: 30 seconds. */
  readonly replayWaitMs: number
  /** Interruptions in a row, without progress in between, after which the run fails. Default: 3. */
  readonly maxAttempts: number
  /** Maximum interruptions of one run in total, with or without progress, before it fails. Default: 100. */
  readonly maxInterruptions: number
  /**
   * How long an interrupted run that executes again counts as a suspect. Without progress, each consecutive interruption multiplies
   * the time by four. At most half of the suspects execute at once (RUN-6). Default: 5 seconds.
   */
  readonly suspectMs: number

  // Process

  /** How long a store may take to respond before a node reports that it is not ready. Default: 2 seconds. */
  readonly storeProbeTimeoutMs: number
  /**
   * How long the event loop may be blocked before a watchdog thread identifies the blocking code and reports it on stderr. 0
   * disables the watchdog. Default: 0.
   */
  readonly eventLoopBlockedMs: number
  /** How long shutdown waits for running runs before it hands them over. Default: 10 seconds. */
  readonly drainTimeoutMs: number

  // Streams and subscribers

  /** Maximum open event streams per run on this node. Default: 10,000. */
  readonly maxSubscribersPerRun: number
  /** A subscriber that reads no byte for this long is disconnected; it can resume with its cursor. Default: 30 seconds. */
  readonly subscriberStallTimeoutMs: number
  /** Idle time after which an open stream sends a heartbeat. Default: 15 seconds. */
  readonly heartbeatIntervalMs: number
  /** Reconnect delay suggested to clients. Default: 1 second. */
  readonly retryDelayMs: number
  /** How long a lost hint can go unnoticed: the log is polled at this interval, regardless of hints. Default: 1 second. */
  readonly pollIntervalMs: number
  /** Maximum wait of one long-poll request. Default: 30 seconds. */
  readonly longPollTimeoutMs: number

  // Views

  /** Maximum log size that can be returned as one (non-streaming) response. Longer runs must be streamed. Default: 64 MiB. */
  readonly maxUnstreamedLogBytes: number
  /**
   * Size of the view cache of this node. A cached view saves subscribers of protocols other than the native one a fold from the
   * first event. The least recently used views are evicted and rebuilt when needed. Default: 128 MiB.
   */
  readonly maxViewCacheBytes: number
  /**
   * Maximum memory of views that open streams and running folds use on this node, in addition to the cache. Above it, the largest
   * are ended. Default: 512 MiB.
   */
  readonly maxActiveViewBytes: number
  /** Maximum concurrent folds of long logs on this node; one owner may use half. Default: 16. */
  readonly maxConcurrentFolds: number
  /** Maximum folds waiting for a free slot (`maxConcurrentFolds`); one owner may use half. Default: 1,000. */
  readonly maxQueuedFolds: number
  /** Maximum wait for a fold slot before the request is refused. Default: 10 seconds. */
  readonly foldQueueTimeoutMs: number

  // Responses and pages

  /** Maximum size of a response that lists runs or documents. The rest is on the next page. Default: 4 MiB. */
  readonly maxResponseBytes: number
  /** Maximum events in one JSON page. Default: 1,000. */
  readonly maxPageEvents: number
  /** Maximum runs in one page of a listing. Default: 200. */
  readonly maxPageRuns: number
  /** Maximum documents in one page of a listing. Default: 200. */
  readonly maxPageDocuments: number

  // Requests and connections

  /** Maximum request body. Default: 4 MiB. */
  readonly maxBodyBytes: number
  /** Maximum request head. Default: 16 KiB. */
  readonly maxHeaderBytes: number
  /** Maximum body of a document. Default: 256 KiB. */
  readonly maxDocumentBytes: number
  /** Maximum length of session ids, idempotency keys, component ids, document ids and titles. Default: 256. */
  readonly maxNameChars: number
  /** Maximum open connections of this node. Default: 20,000. */
  readonly maxConnections: number
  /** Maximum open connections per address (IPv4 address or IPv6 /64) to this node. Default: 10,000. */
  readonly maxConnectionsPerAddress: number
  /** How long the message of a gRPC call may take to arrive. Default: 20 seconds. */
  readonly grpcMessageTimeoutMs: number

  // Unauthenticated clients

  /**
   * Maximum average requests per second per address on this node, without a verified credential. 0 disables the limit.
   * Default: 1,000.
   */
  readonly maxRequestsPerSecondPerAddress: number
  /** Burst size of `maxRequestsPerSecondPerAddress`. Default: 5,000. */
  readonly maxRequestBurstPerAddress: number
  /** Burst of requests with an invalid credential that one address may send. After that, one per second. Default: 20. */
  readonly maxAuthFailureBurst: number
  /** Maximum WebSockets of this node that have not authenticated yet. Default: 1,000. */
  readonly maxUnauthenticatedSockets: number
  /** Maximum WebSockets per address that have not authenticated yet. Default: 100. */
  readonly maxUnauthenticatedSocketsPerAddress: number
  /** How long a WebSocket has to authenticate if a credential is required. Default: 10 seconds. */
  readonly socketAuthTimeoutMs: number
  /** Maximum message of a WebSocket before it has authenticated. Default: 8 KiB. */
  readonly maxUnauthenticatedMessageBytes: number

  // One principal

  /** Maximum runs of one principal that this node executes concurrently. 0 means half of `maxConcurrentRuns`. Default: 0. */
  readonly maxRunsPerPrincipal: number
  /** Maximum average starts per second per principal on this node. 0 disables the limit. Default: 200. */
  readonly maxStartsPerSecond: number
  /** Burst size of `maxStartsPerSecond`. Default: 2,000. */
  readonly maxStartBurst: number
  /** Maximum average requests per second per principal on this node. 0 disables the limit. Default: 1,000. */
  readonly maxRequestsPerSecond: number
  /** Burst size of `maxRequestsPerSecond`. Default: 5,000. */
  readonly maxRequestBurst: number
  /** Maximum open event streams per principal on this node. Default: 5,000. */
  readonly maxStreamsPerPrincipal: number
  /** Maximum stored bytes per principal. Above it, its starts and document writes are refused. 0 disables the limit. Default: 0. */
  readonly maxStoredBytesPerPrincipal: number
  /** Maximum documents per principal, including sessions. 0 disables the limit. Default: 0. */
  readonly maxDocumentsPerPrincipal: number

  // Webhooks and share links

  /** Maximum push notification configurations per task. Default: 10. */
  readonly maxWebhooksPerTask: number
  /** Maximum push notification configurations per principal, and Durable Streams subscriptions. Default: 100. */
  readonly maxWebhooksPerPrincipal: number
  /** Maximum share links per run. Default: 100. */
  readonly maxSharesPerRun: number
  /** Maximum share links per principal. Default: 10,000. */
  readonly maxSharesPerPrincipal: number

  // Session history

  /** Messages of a session's earlier runs that a component gets unless it asks for another number. Default: 50. */
  readonly maxHistoryMessages: number
  /** Maximum bytes of these messages, unless the component asks for another size. Default: 128 KiB. */
  readonly maxHistoryBytes: number
  /** Maximum log bytes that are read to find the messages of a session's history. Default: 8 MiB. */
  readonly maxHistoryReadBytes: number

  // Retention

  /** Age at which finished runs are trimmed of their events. 0 keeps them forever. Default: 0. */
  readonly retainMs: number
  /** Age at which finished runs are removed, with their idempotency keys and idle sessions. 0 keeps them forever. Default: 0. */
  readonly retainRunsMs: number
  /**
   * Maximum size of the store. Above it, retention trims the oldest runs of the largest owners first. 0 disables the limit.
   * Default: 0.
   */
  readonly maxRetainedBytes: number
}

const KiB = 1024
const MiB = 1024 * KiB
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

export const defaultLimits: Limits = {
  // Events and logs
  maxEventBytes: 4 * MiB,
  maxEventDepth: 200,
  maxPendingEvents: 512,
  maxPendingChars: 512 * KiB,
  maxReadBytes: 256 * KiB,

  // Runs of one node
  maxConcurrentRuns: 2000,
  maxQueuedRuns: 20_000, // one owner alone may use half of them
  maxParkedRuns: 1000,
  maxSleepingRuns: 10_000,
  maxMetadataBytes: 64 * KiB,

  // One run
  maxConcurrentWork: 1000,
  maxTotalWork: 100_000,
  maxTotalCalls: 10_000,
  runTimeoutMs: 24 * HOUR,
  runIdleTimeoutMs: 15 * MINUTE,
  stopGraceMs: 5 * SECOND,

  // Leases and recovery
  leaseMs: 10 * SECOND, // with a poll every third of it, another node takes over a dead worker's runs within 15 seconds
  unservedTimeoutMs: 1 * HOUR,
  replayWaitMs: 30 * SECOND,
  maxAttempts: 3,
  maxInterruptions: 100,
  suspectMs: 5 * SECOND,

  // Process
  storeProbeTimeoutMs: 2 * SECOND,
  eventLoopBlockedMs: 0, // the command line sets a value: it owns its process
  drainTimeoutMs: 10 * SECOND,

  // Streams and subscribers
  maxSubscribersPerRun: 10_000,
  subscriberStallTimeoutMs: 30 * SECOND,
  heartbeatIntervalMs: 15 * SECOND,
  retryDelayMs: 1 * SECOND,
  pollIntervalMs: 1 * SECOND,
  longPollTimeoutMs: 30 * SECOND,

  // Views
  maxUnstreamedLogBytes: 64 * MiB,
  maxViewCacheBytes: 128 * MiB,
  maxActiveViewBytes: 512 * MiB,
  maxConcurrentFolds: 16,
  maxQueuedFolds: 1000,
  foldQueueTimeoutMs: 10 * SECOND,

  // Responses and pages
  maxResponseBytes: 4 * MiB,
  maxPageEvents: 1000,
  maxPageRuns: 200,
  maxPageDocuments: 200,

  // Requests and connections
  maxBodyBytes: 4 * MiB,
  maxHeaderBytes: 16 * KiB,
  maxDocumentBytes: 256 * KiB,
  maxNameChars: 256,
  maxConnections: 20_000,
  maxConnectionsPerAddress: 10_000, // half of them: all clients of a reverse proxy share its address
  grpcMessageTimeoutMs: 20 * SECOND,

  // Unauthenticated clients
  maxRequestsPerSecondPerAddress: 1000,
  maxRequestBurstPerAddress: 5000,
  maxAuthFailureBurst: 20,
  maxUnauthenticatedSockets: 1000,
  maxUnauthenticatedSocketsPerAddress: 100,
  socketAuthTimeoutMs: 10 * SECOND,
  maxUnauthenticatedMessageBytes: 8 * KiB,

  // One principal
  maxRunsPerPrincipal: 0,
  maxStartsPerSecond: 200,
  maxStartBurst: 2000,
  maxRequestsPerSecond: 1000,
  maxRequestBurst: 5000,
  maxStreamsPerPrincipal: 5000,
  maxStoredBytesPerPrincipal: 0,
  maxDocumentsPerPrincipal: 0,

  // Webhooks and share links
  maxWebhooksPerTask: 10,
  maxWebhooksPerPrincipal: 100,
  maxSharesPerRun: 100,
  maxSharesPerPrincipal: 10_000,

  // Session history
  maxHistoryMessages: 50,
  maxHistoryBytes: 128 * KiB,
  maxHistoryReadBytes: 8 * MiB,

  // Retention
  retainMs: 0,
  retainRunsMs: 0,
  maxRetainedBytes: 0,
}

/** Factor: content of one run may take this many times `maxResponseBytes`, because a run's text is often repeated in its output. */
export const CONTENT_LIMIT_FACTOR = 2
