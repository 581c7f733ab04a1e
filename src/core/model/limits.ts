/** Every bound of the system, with its unit in its name. Defaults: `defaultLimits`, below. */
export interface Limits {
  /** Largest serialized event. A larger one fails its run (EVT-1). */
  readonly eventBytesMax: number
  /** Deepest nesting of a value inside an event. */
  readonly eventDepthMax: number
  /** Maximum uncommitted events of one run before its agent must wait (backpressure). */
  readonly pendingEventsMax: number
  /** Maximum uncommitted characters of one run before its agent must wait (backpressure). */
  readonly pendingCharsMax: number
  /** Maximum bytes of one read of the log. */
  readonly readBytesMax: number
  /** Events in one JSON page. */
  readonly pageEventsMax: number
  /** Bytes of a run's log that are folded into one answer; of a longer log only a stream is served. */
  readonly foldBytesMax: number
  /**
   * Bytes of logs whose views this node keeps, so that a subscriber of a protocol other than the native one need not wait for a fold from the first
   * event. The least recently used are folded again when needed.
   */
  readonly viewBytesMax: number
  /** Bytes of one answer that lists what several runs or documents hold; what does not fit is on the next page. */
  readonly responseBytesMax: number
  /** Runs in one page of a listing. */
  readonly pageRunsMax: number
  /** Documents in one page of a listing. */
  readonly pageDocumentsMax: number
  /** Runs executed at once by this node. */
  readonly runsConcurrentMax: number
  /** Runs of one principal executed at once by this node; 0 is half of `runsConcurrentMax`. */
  readonly runsPerPrincipalMax: number
  /** Runs that one principal may start per second, on this node, in the long run; 0 is no limit. */
  readonly startsPerSecondMax: number
  /** Burst size of `startsPerSecondMax`. */
  readonly startsBurstMax: number
  /** Requests of one principal per second, on this node, in the long run; 0 is no limit. */
  readonly requestsPerSecondMax: number
  /** Burst size of `requestsPerSecondMax`. */
  readonly requestsBurstMax: number
  /** Requests of one address per second, on this node, without a credential known to be valid; 0 is no limit. */
  readonly requestsPerAddressMax: number
  /** Burst size of `requestsPerAddressMax`. */
  readonly requestsPerAddressBurstMax: number
  /** Open event streams of one principal on this node. */
  readonly streamsPerPrincipalMax: number
  /** Requests with a wrong credential that one address may make at once; from then on one per second. */
  readonly loginFailuresBurstMax: number
  /** Bytes that one principal may have stored before its starts and document writes are refused; 0 is no limit. */
  readonly storedBytesPerPrincipalMax: number
  /** Documents of one principal, sessions included; 0 is no limit. */
  readonly documentsPerPrincipalMax: number
  /** Push notification configurations of one task, and of one principal. */
  readonly webhooksPerTaskMax: number
  readonly webhooksPerPrincipalMax: number
  /** Share links. */
  readonly sharesPerRunMax: number
  readonly sharesPerPrincipalMax: number
  /** Maximum queued runs; further starts are refused. One owner may use at most the remaining capacity. */
  readonly runsQueuedMax: number
  /** Paused agents kept in memory. Beyond that the oldest is evicted, and rebuilt from its log when it is resumed. */
  readonly runsParkedMax: number
  /** Maximum long-sleeping runs of this node that give up their slots; further ones keep them. */
  readonly runsAsleepMax: number
  /** Open event streams of one run on this node. */
  readonly subscribersPerRunMax: number
  /** A subscriber that reads no byte for this long is disconnected; it can resume with its cursor. */
  readonly subscriberStallTimeoutMs: number
  /** Idle time after which an open stream sends a heartbeat. */
  readonly heartbeatIntervalMs: number
  /** Reconnect delay suggested to clients. */
  readonly retryDelayMs: number
  /** How long a lost hint can go unnoticed: the log is polled at this interval, regardless of hints. */
  readonly pollIntervalMs: number
  /** Longest wait of one long-poll request. */
  readonly longPollTimeoutMs: number
  /** How long a store may take to answer before a node reports that it is not ready. */
  readonly storeProbeTimeoutMs: number
  /** A claim not renewed for this long may be taken over by another worker. */
  readonly leaseMs: number
  /** In a shared store: how long a run that this node does not serve is left to other nodes before it is failed. */
  readonly unservedTimeoutMs: number
  /** How long a recovered run may go without requesting recorded work before it counts as diverged. */
  readonly replayWaitMs: number
  /** Concurrent steps, tools, calls and questions of one run. */
  readonly workInFlightMax: number
  /** Steps, tools, calls and questions in the whole life of a run. */
  readonly workTotalMax: number
  /** Calls of components in the whole life of a run. */
  readonly callsTotalMax: number
  /** Attempts that may be interrupted in a row without progress before the run fails for good. */
  readonly attemptsMax: number
  /** Interruptions in the whole life of a run, progress or not, before it fails for good. */
  readonly interruptionsMax: number
  /**
   * How long an interrupted run that executes again counts as a suspect: this long if it makes progress, four times as long with
   * each interruption in a row if it does not. At most half of the suspects execute at once (RUN-6).
   */
  readonly suspectMs: number
  /** Maximum execution time since the run last started or was answered; sleep does not count. */
  readonly runTimeoutMs: number
  /** Longest silence of an agent that is neither paused nor finished. */
  readonly runIdleTimeoutMs: number
  /** How long an agent may ignore its abort signal before its run is ended without it. */
  readonly stopGraceMs: number
  /**
   * How long the event loop may be blocked before a watchdog thread finds out whose code blocks it, and writes that to stderr; 0 is
   * no watchdog.
   */
  readonly loopBlockedMs: number
  /** How long shutdown waits for running runs before it hands them over. */
  readonly drainTimeoutMs: number
  /** Largest request body. */
  readonly bodyBytesMax: number
  /** Largest metadata of a run: every listing carries it. */
  readonly metadataBytesMax: number
  /** Largest body of a document. */
  readonly documentBytesMax: number
  /** Largest request head. */
  readonly headerBytesMax: number
  /** Open connections of this node. */
  readonly connectionsMax: number
  /** Open connections of one address (IPv4 address or IPv6 /64) to this node. */
  readonly connectionsPerAddressMax: number
  /** WebSockets of this node that have not authenticated yet. */
  readonly loginsMax: number
  /** WebSockets of one address that have not authenticated yet. */
  readonly loginsPerAddressMax: number
  /** How long a WebSocket has to authenticate if a credential is required. */
  readonly loginTimeoutMs: number
  /** Largest message of a WebSocket before it has authenticated. */
  readonly loginBytesMax: number
  /** How long the message of a gRPC call may take to arrive. */
  readonly messageTimeoutMs: number
  /** Longest session id, idempotency key, component id, document id and title. */
  readonly nameCharsMax: number
  /** Default maximum of messages from a session's earlier runs that a component gets. */
  readonly historyMessagesMax: number
  /** Default maximum of bytes of these messages. */
  readonly historyBytesMax: number
  /** Maximum log bytes that are read to find these messages. */
  readonly historyReadBytesMax: number
  /** Finished runs are trimmed of their events when older than this; 0 keeps them for ever. */
  readonly retainMs: number
  /** Finished runs are removed, with their idempotency keys and idle sessions, when older than this; 0 keeps them for ever. */
  readonly retainRunsMs: number
  /** While more than this is stored, the owners with the most are trimmed to a common level; 0 is no bound. */
  readonly retainBytesMax: number
}

const KiB = 1024
const MiB = 1024 * KiB
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

export const defaultLimits: Limits = {
  eventBytesMax: 4 * MiB,
  eventDepthMax: 200,
  pendingEventsMax: 512,
  pendingCharsMax: 512 * KiB,
  readBytesMax: 256 * KiB,
  pageEventsMax: 1000,
  foldBytesMax: 64 * MiB,
  viewBytesMax: 128 * MiB,
  responseBytesMax: 4 * MiB,
  pageRunsMax: 200,
  pageDocumentsMax: 200,
  runsConcurrentMax: 2000,
  runsPerPrincipalMax: 0,
  startsPerSecondMax: 200,
  startsBurstMax: 2000,
  requestsPerSecondMax: 1000,
  requestsBurstMax: 5000,
  requestsPerAddressMax: 1000,
  requestsPerAddressBurstMax: 5000,
  streamsPerPrincipalMax: 5000,
  loginFailuresBurstMax: 20,
  storedBytesPerPrincipalMax: 0,
  documentsPerPrincipalMax: 0,
  webhooksPerTaskMax: 10,
  webhooksPerPrincipalMax: 100,
  sharesPerRunMax: 100,
  sharesPerPrincipalMax: 10_000,
  runsQueuedMax: 20_000, // one owner alone may have half of them
  runsParkedMax: 1000,
  runsAsleepMax: 10_000,
  subscribersPerRunMax: 10_000,
  subscriberStallTimeoutMs: 30 * SECOND,
  heartbeatIntervalMs: 15 * SECOND,
  retryDelayMs: 1 * SECOND,
  pollIntervalMs: 1 * SECOND,
  longPollTimeoutMs: 30 * SECOND,
  storeProbeTimeoutMs: 2 * SECOND,
  leaseMs: 10 * SECOND, // with the look every third of it, a dead worker's runs are taken over within 15 seconds
  unservedTimeoutMs: 1 * HOUR,
  replayWaitMs: 30 * SECOND,
  workInFlightMax: 1000,
  workTotalMax: 100_000,
  callsTotalMax: 10_000,
  attemptsMax: 3,
  interruptionsMax: 100,
  suspectMs: 5 * SECOND,
  runTimeoutMs: 24 * HOUR,
  runIdleTimeoutMs: 15 * MINUTE,
  stopGraceMs: 5 * SECOND,
  loopBlockedMs: 0, // the command line has one: it owns its process
  drainTimeoutMs: 10 * SECOND,
  bodyBytesMax: 4 * MiB,
  metadataBytesMax: 64 * KiB,
  documentBytesMax: 256 * KiB,
  headerBytesMax: 16 * KiB,
  connectionsMax: 20_000,
  connectionsPerAddressMax: 10_000, // half of them: all clients of a reverse proxy share its address
  loginsMax: 1000,
  loginsPerAddressMax: 100,
  loginTimeoutMs: 10 * SECOND,
  loginBytesMax: 8 * KiB,
  messageTimeoutMs: 20 * SECOND,
  nameCharsMax: 256,
  historyMessagesMax: 50,
  historyBytesMax: 128 * KiB,
  historyReadBytesMax: 8 * MiB,
  retainMs: 0,
  retainRunsMs: 0,
  retainBytesMax: 0,
}
