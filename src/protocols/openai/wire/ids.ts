/** OpenAI-style ids, derived from run and session ids, so that any node can parse them without stored state. */

const RUN = 'run_'
const SESSION = 'ses_'
const CONVERSATION = 'conv_'

/**
 * The response to one request: a run, or a part of one. A run that waits for its caller's tools has several parts; each later part
 * starts with the tool results.
 */
export interface Part {
  readonly run: string
  /** 0 for the first. */
  readonly number: number
}

/** A part's name without prefix: `01…`, or `01…_1`. */
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

/** Id of a response item, such as `msg_01…_2`; its number is the output index. */
export function toItemId(prefix: string, part: Part, number: number): string {
  return `${prefix}_${nameOf(part)}_${number}`
}

/** Parses the id of a response or chat completion; undefined for other ids. */
export function parseResponseId(id: string): Part | undefined {
  const [, tail, number] = /^(?:resp_|chatcmpl-)([A-Za-z0-9-]+)(?:_(\d{1,6}))?$/.exec(id) ?? []
  return tail === undefined ? undefined : { run: RUN + tail, number: Number(number ?? 0) }
}

/** The part of an item; undefined if it is not a run's item. */
export function parseItemId(id: string): Part | undefined {
  const [, name] = /^(?:msg|rs|fc|fco|mcp|in)_(.+)_\d{1,6}$/.exec(id) ?? []
  return name === undefined ? undefined : parseResponseId(`resp_${name}`)
}

/** Id of a call of a caller's tool; identifies the run when the result is sent. */
export function toCallId(run: string, call: string): string {
  return `call_${nameOf({ run, number: 0 })}_${call}`
}

export function parseCallId(id: string): { readonly run: string; readonly call: string } | undefined {
  const [, tail, call] = /^call_([A-Za-z0-9-]+)_(.+)$/s.exec(id) ?? []
  return tail === undefined ? undefined : { run: RUN + tail, call: call! }
}

/** Caller-chosen session names are kept; server-assigned ones become `conv_01…`. */
export function toConversationId(session: string): string {
  return session.startsWith(SESSION) ? CONVERSATION + session.slice(SESSION.length) : session
}

export function toSession(conversation: string): string {
  return conversation.startsWith(CONVERSATION) ? SESSION + conversation.slice(CONVERSATION.length) : conversation
}

/** Whether the id is server-assigned, so the conversation must exist. */
export function isMadeHere(conversation: string): boolean {
  return conversation.startsWith(CONVERSATION)
}
