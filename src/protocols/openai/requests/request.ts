/** Common request parameters: component, session, and idempotency key. */
import type { Component, DisconnectPolicy } from '../../../core/ports/component.ts'
import type { Service } from '../../../core/service.ts'
import { decodeHeader } from '../../../http/request/header-text.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { HttpRequest } from '../../../http/exchange.ts'
import { notFound, refusal } from '../wire/errors.ts'

/** Headers of Holdfast. */
export const SESSION_HEADER = 'holdfast-session'
export const DISCONNECT_HEADER = 'holdfast-disconnect'
const PROGRESS_HEADER = 'holdfast-progress'
export const TOOLS_HEADER = 'holdfast-tools'

/** The sender of a request, over HTTP or a WebSocket. */
export interface Requester extends Pick<Call, 'principal' | 'signal'> {
  readonly request: Pick<HttpRequest, 'headers'>
}

export function findComponent(service: Service, model: string): Component {
  const components = service.components()
  const found = components.find(({ id }) => id === model) ?? components.find((each) => each.upstream?.id === model)
  if (found !== undefined) return found
  service.noteUnknown()
  throw notFound(
    `The model ${JSON.stringify(model.slice(0, 200))} does not exist; GET /v1/models lists those that do.`,
    {
      param: 'model',
      code: 'model_not_found',
    },
  )
}

export function header(call: Requester, name: string, maxChars: number): string | undefined {
  const given = call.request.headers[name]
  const text = Array.isArray(given) ? given[0] : given
  if (text === undefined) return undefined
  const value = decodeHeader(text)
  if (value === '' || value.length > maxChars)
    throw refusal(`the header ${name} must have 1 to ${maxChars} characters`, { param: name })
  return value
}

export function disconnectPolicy(
  call: Requester,
  component: Component,
  { kept, maxChars }: { readonly kept: boolean; readonly maxChars: number },
): DisconnectPolicy {
  const wanted = header(call, DISCONNECT_HEADER, maxChars)
  if (wanted === 'continue' || wanted === 'stop') return wanted
  if (wanted !== undefined) throw refusal(`${DISCONNECT_HEADER} must be continue or stop`, { param: DISCONNECT_HEADER })
  return kept ? 'continue' : (component.onDisconnect ?? 'continue')
}

export function wantsProgress(call: Requester, maxChars: number): boolean {
  return header(call, PROGRESS_HEADER, maxChars) === 'tools'
}

/** Whether tools that the server executes are shown as `function_call` items, as in Open Responses. */
export function wantsFunctionCalls(call: Requester, maxChars: number): boolean {
  const wanted = header(call, TOOLS_HEADER, maxChars)
  if (wanted === undefined || wanted === 'mcp_call') return false
  if (wanted === 'function_call') return true
  throw refusal(`${TOOLS_HEADER} must be mcp_call or function_call`, { param: TOOLS_HEADER })
}

/** Digest that identifies a repeated request. */
export async function digestOf(value: unknown): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(value)))
  return Buffer.from(bytes).toString('base64url')
}
