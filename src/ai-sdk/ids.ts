/** Ids of messages and streams, derived from run ids, so that any node can parse them without stored state. */

const RUN = 'run_'
const MESSAGE = 'msg_'

/** The part of a run between two answers. 0: from its start; n: from its nth answer. */
export interface Leg {
  readonly run: string
  readonly leg: number
}

/** Id of the assistant message that starts with this part of the run, such as `msg_01…` or `msg_01…_1`. */
export function toMessageId({ run, leg }: Leg): string {
  const tail = run.startsWith(RUN) ? run.slice(RUN.length) : run
  return leg === 0 ? MESSAGE + tail : `${MESSAGE}${tail}_${leg}`
}

/** Undefined if the message does not belong to a run. */
export function parseMessageId(id: string): Leg | undefined {
  const [, tail, leg] = /^msg_([A-Za-z0-9-]+)(?:_(\d{1,6}))?$/.exec(id) ?? []
  return tail === undefined ? undefined : { run: RUN + tail, leg: Number(leg ?? 0) }
}

/** Id of the stream of this part of the run, such as `run_01…` or `run_01…~1`, for clients that count the chunks of one response. */
export function toStreamId({ run, leg }: Leg): string {
  return leg === 0 ? run : `${run}~${leg}`
}

/** Undefined if the id is that of a chat. */
export function parseStreamId(id: string): Leg | undefined {
  const [, run, leg] = /^(run_[A-Za-z0-9-]+)(?:~(\d{1,6}))?$/.exec(id) ?? []
  return run === undefined ? undefined : { run, leg: Number(leg ?? 0) }
}
