/** Limits of push notifications, with units in their names. */
export interface PushLimits {
  /** Maximum concurrent deliveries on this node. Default: 64. */
  readonly maxDeliveries: number
  /** Maximum concurrent deliveries per principal. Default: 8. */
  readonly maxDeliveriesPerPrincipal: number
  /** Maximum concurrent deliveries per host. Default: 4. */
  readonly maxDeliveriesPerHost: number
  /** Poll interval; longer if polling is slow. Default: 500 milliseconds. */
  readonly pollIntervalMs: number
  /** Time limit for a receiver's response. Default: 15 seconds. */
  readonly requestTimeoutMs: number
  /** How long an up-to-date delivery follows its task before it returns to polling. Default: 5 seconds. */
  readonly followTimeoutMs: number
  /** After this long without progress another node may take over. Longer than one attempt takes. Default: 45 seconds. */
  readonly leaseMs: number
  /** Delay before the second attempt; doubles with each further one. Default: 1 second. */
  readonly retryDelayMs: number
  /** Maximum delay between two attempts. Default: 10 minutes. */
  readonly maxRetryDelayMs: number
  /** Consecutive failures before a delivery becomes a dead letter. Default: 20. */
  readonly maxAttempts: number
}

export const defaultPushLimits: PushLimits = {
  maxDeliveries: 64,
  maxDeliveriesPerPrincipal: 8,
  maxDeliveriesPerHost: 4,
  pollIntervalMs: 500,
  requestTimeoutMs: 15_000,
  followTimeoutMs: 5000,
  leaseMs: 45_000,
  retryDelayMs: 1000,
  maxRetryDelayMs: 600_000,
  maxAttempts: 20, // about two hours
}
