/** Failure codes of runs whose upstream failed, as opposed to its agent. */
export const upstreamCodes = {
  upstream_unreachable: 'No connection to the upstream, also after retries.',
  upstream_http_error: 'The upstream responded with an error status; details.status has it.',
  upstream_protocol_error: 'The upstream sent bytes that are not its protocol.',
  upstream_too_large: 'The upstream sent an event or response that is too large.',
  upstream_cut: 'The connection broke, and the run cannot be re-attached.',
  upstream_idle: 'The upstream was silent for longer than its idle timeout.',
  upstream_incomplete: 'The stream ended cleanly without a finish reason.',
  upstream_empty: 'The response is empty, with the finish reason `stop`, and took no tokens.',
  upstream_error: 'The stream has an error, or the finish reason `error`.',
  upstream_stalled: 'The upstream counts the run as running, but three resumed streams had no event.',
  upstream_lost_run: 'The upstream does not know the run any more.',
  upstream_overloaded: 'The run waited too long for a slot of the upstream, or too many runs wait.',
} as const

export type UpstreamCode = keyof typeof upstreamCodes
