/** All limits of workflows. */

/** Steps of one workflow, including blocks. */
export const STEPS_MAX = 500

/** Nesting depth of blocks. */
export const DEPTH_MAX = 16

export const ITERATIONS = 10
export const ITERATIONS_MAX = 1000

/** Branches of a parallel block that run concurrently. */
export const CONCURRENCY = 8
export const CONCURRENCY_MAX = 64

/** Attempts of one step before its failure is handled. */
export const ATTEMPTS_MAX = 20

export { TIMER_MAX_MS } from '../../core/runtime/timer.ts'

export const RETRY_DELAY_MS = 500
export const RETRY_DELAY_MAX_MS = 60_000

/** How often a rejected step is repeated. */
export const REVIEW_ROUNDS = 3
export const REVIEW_ROUNDS_MAX = 20

/** How often a person may retry a failed step. */
export const RETRIES_BY_HAND_MAX = 20

/** How often a question is repeated after an invalid answer. */
export const ASKED_AGAIN_MAX = 3
