/** Collections of documents that belong to the run in their label. Retention needs the names even if the protocol is not served. */

/** Push configurations. */
export const PUSH_CONFIGS = 'a2a.push'
/** Active deliveries. Removed once the end of the task is delivered. */
export const DELIVERIES = 'a2a.push.delivery'
/** Failed deliveries. A retry continues with the failed event. */
export const DEAD_LETTERS = 'a2a.push.dead'
/** Messages that answered a task's questions. */
export const TURNS = 'a2a.turn'
