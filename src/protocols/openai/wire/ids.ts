/** Ids of this wire. They are made of the run's and the session's own, so that any node can read them and nothing has to be kept. */

const RUN = 'run_'
const SESSION = 'ses_'
const CONVERSATION = 'conv_'

/**
 * What one request is answered with: a run, or a part of one. A run that waits for tools of its caller is answered in several
 * parts, and each but the first begins where the results of the caller's tools came in.
 */
export interface Part {
  readonly run: string
  /** 0 for the first. */
  readonly number: number
}

/** `run_01…` and `01…_1`: the part's name without a prefix. */
function nameOf({ run, number }: Part): string {
  const tail = run.startsWith(RUN) ? run.slice(RUN.length) : run
  return number === 0 ? tail : `${tail}_${number}`
}

export function toResponseId(part: Part): string {
  return `resp_${nameOf(part)}`
}

export function toCompletionId(part: Part): string {
  return `chatcmpl-${nameOf(part)}`
}

/** An item of a response, such as `msg_01…_2`; its number is its place in the output. */
export function toItemId(prefix: string, part: Part, number: number): string {
  return `${prefix}_${nameOf(part)}_${number}`
}

/** Reads the id of a response or of a chat completion, which name the same; undefined for what is neither. */
export function parseResponseId(id: string): Part | undefined {
  const [, tail, number] = /^(?:resp_|chatcmpl-)([A-Za-z0-9-]+)(?:_(\d{1,6}))?$/.exec(id) ?? []
  return tail === undefined ? undefined : { run: RUN + tail, number: Number(number ?? 0) }
}

/** The part that an item is of; undefined for what is no item of a run. */
export function parseItemId(id: string): Part | undefined {
  const [, name] = /^(?:msg|rs|fc|mcp|in)_(.+)_\d{1,6}$/.exec(id) ?? []
  return name === undefined ? undefined : parseResponseId(`resp_${name}`)
}

/** A call of a caller's tool: whoever sends its result names the run by it. */
export function toCallId(run: string, call: string): string {
  return `call_${nameOf({ run, number: 0 })}_${call}`
}

export function parseCallId(id: string): { readonly run: string; readonly call: string } | undefined {
  const [, tail, call] = /^call_([A-Za-z0-9-]+)_(.+)$/s.exec(id) ?? []
  return tail === undefined ? undefined : { run: RUN + tail, call: call! }
}

/** A session that was given a name keeps it; one that the server named is `conv_01…`. */
export function toConversationId(session: string): string {
  return session.startsWith(SESSION) ? CONVERSATION + session.slice(SESSION.length) : session
}

export function toSession(conversation: string): string {
  return conversation.startsWith(CONVERSATION) ? SESSION + conversation.slice(CONVERSATION.length) : conversation
}

/** Whether it names a conversation that must exist, and is not a name that the caller chose. */
export function isMadeHere(conversation: string): boolean {
  return conversation.startsWith(CONVERSATION)
}
