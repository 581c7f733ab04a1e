/** Every bound of a workflow, in one place. */

/** Steps of one workflow, blocks included. */
export const STEPS_MAX = 500

/** Blocks within blocks within blocks … */
export const DEPTH_MAX = 16

export const ITERATIONS = 10
export const ITERATIONS_MAX = 1000

/** Branches of a parallel block that run at once. */
export const CONCURRENCY = 8
export const CONCURRENCY_MAX = 64

/** Tries of one step before its failure is dealt with. */
export const ATTEMPTS_MAX = 20

export { TIMER_MAX_MS } from '../../core/runtime/timer.ts'

export const BACKOFF_MS = 500
export const BACKOFF_MAX_MS = 60_000

/** How often a step is done for somebody who does not like its output. */
export const REVIEW_ROUNDS = 3
export const REVIEW_ROUNDS_MAX = 20

/** How often somebody may decide that a failed step is tried again. */
export const RETRIES_BY_HAND_MAX = 20

/** How often a question is put again to somebody whose answer is none. */
export const ASKED_AGAIN_MAX = 3
