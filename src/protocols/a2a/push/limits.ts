/** Limits of push notifications, with units in their names. */
export interface PushLimits {
  /** Maximum concurrent deliveries on this node. */
  readonly maxDeliveries: number
  /** Maximum concurrent deliveries per principal. */
  readonly maxDeliveriesPerPrincipal: number
  /** Maximum concurrent deliveries per host. */
  readonly maxDeliveriesPerHost: number
  /** Poll interval; longer if polling is slow. */
  readonly lookMs: number
  /** Time limit for a receiver's response. */
  readonly timeoutMs: number
  /** How long an up-to-date delivery follows its task before it returns to polling. */
  readonly idleWaitMs: number
  /** After this long without progress another node may take over. Longer than one attempt takes. */
  readonly leaseMs: number
  /** Delay before the second attempt; doubles with each further one. */
  readonly delayMs: number
  readonly maxDelayMs: number
  /** Consecutive failures before a delivery becomes a dead letter. */
  readonly maxAttempts: number
}

export const defaultPushLimits: PushLimits = {
  maxDeliveries: 64,
  maxDeliveriesPerPrincipal: 8,
  maxDeliveriesPerHost: 4,
  lookMs: 500,
  timeoutMs: 15_000,
  idleWaitMs: 5000,
  leaseMs: 45_000,
  delayMs: 1000,
  maxDelayMs: 600_000,
  maxAttempts: 20, // about two hours
}
