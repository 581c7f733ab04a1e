/** The bounds of pushes, with their units in their names. */
export interface PushLimits {
  /** Deliveries that this node works on at once. */
  readonly deliveriesMax: number
  /** … for one principal. */
  readonly deliveriesPerPrincipalMax: number
  /** … to one host. */
  readonly deliveriesPerHostMax: number
  /** How often it looks for those that have something to tell; less often where looking takes long. */
  readonly lookMs: number
  /** How long a receiver may take. */
  readonly timeoutMs: number
  /** How long a task at its end is followed before it is left to be looked at. */
  readonly lingerMs: number
  /** A delivery that shows no progress for this long may be taken over by another node: longer than one try takes. */
  readonly leaseMs: number
  /** Before the second try; doubled with each further one. */
  readonly delayMs: number
  readonly delayMsMax: number
  /** Failures in a row before it is given up. */
  readonly attemptsMax: number
}

export const defaultPushLimits: PushLimits = {
  deliveriesMax: 64,
  deliveriesPerPrincipalMax: 8,
  deliveriesPerHostMax: 4,
  lookMs: 500,
  timeoutMs: 15_000,
  lingerMs: 5000,
  leaseMs: 45_000,
  delayMs: 1000,
  delayMsMax: 600_000,
  attemptsMax: 20, // some two hours
}
