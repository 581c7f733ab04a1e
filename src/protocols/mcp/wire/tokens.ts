/** Opaque tokens that clients send back: stream cursors, ids of server requests, states of calls. They grant no access. */
import { HoldfastError } from '../../../core/model/errors.ts'

/** JSON in an alphabet that is safe in headers. */
export function toToken(value: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Undefined if the token was not made by Holdfast. */
export function fromToken(text: string): readonly unknown[] | undefined {
  if (text.length > TOKEN_CHARS_MAX) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(value) ? (value as unknown[]) : undefined
  } catch {
    return undefined
  }
}

const TOKEN_CHARS_MAX = 8000

export type RpcId = string | number

/** Bounded because every event of a stream repeats it. */
const ID_CHARS_MAX = 256

export function isRpcId(id: unknown): id is RpcId {
  return (typeof id === 'number' && Number.isFinite(id)) || (typeof id === 'string' && id.length <= ID_CHARS_MAX)
}

/** Everything a stream needs to resume on any node. */
export interface StreamName {
  readonly run: string
  readonly request: RpcId
  readonly progress?: RpcId
  /** Whether the client answers questions on the stream. */
  readonly supportsElicitation: boolean
}

export function toStreamToken({ run, request, progress, supportsElicitation }: StreamName): string {
  return toToken([run, request, supportsElicitation ? 1 : 0, ...(progress === undefined ? [] : [progress])])
}

/** Parses the `Last-Event-ID` of a stream: its name, and the number of the last event that the client has. */
export function parseEventId(text: string): { readonly stream: StreamName; readonly after: number } {
  const [token = '', number = ''] = text.split('.', 2)
  const [run, request, supportsElicitation, progress] = fromToken(token) ?? []
  if (typeof run !== 'string' || !isRpcId(request) || !/^(?:-1|\d{1,15})$/.test(number))
    throw new HoldfastError('cursor_invalid', 'Last-Event-ID is not the id of an event of this server')
  return {
    stream: { run, request, supportsElicitation: supportsElicitation === 1, ...(isRpcId(progress) && { progress }) },
    after: Number(number),
  }
}

/** Id of a server request, from which any node knows what a response answers. */
export function toElicitationId(run: string, key: string): string {
  return toToken(['elicit', run, key])
}

export function parseElicitationId(id: unknown): { readonly run: string; readonly key: string } | undefined {
  if (typeof id !== 'string') return undefined
  const [kind, run, key] = fromToken(id) ?? []
  return kind === 'elicit' && typeof run === 'string' && typeof key === 'string' ? { run, key } : undefined
}
