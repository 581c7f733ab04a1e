/** One request as data, small enough to print, and its conversion for sending. */
import { bodyFor, pathFor, type Subject } from '../security/requests.ts'
import { KEY, type FuzzedRoute } from './messages.ts'
import { mutated, type Mutation } from './mutation.ts'
import type { SubjectState } from './subjects.ts'
import { jsonText } from './values.ts'

export type FuzzedBody =
  | { readonly kind: 'none' }
  /** The body of a valid request, changed. */
  | { readonly kind: 'mutated'; readonly changes: readonly Mutation[] }
  /** From a schema. */
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'form' | 'multipart'; readonly fields: readonly (readonly [string, string])[] }
  | { readonly kind: 'text'; readonly text: string }

export interface FuzzedRequest {
  readonly route: FuzzedRoute
  readonly subject: SubjectState
  /** Parameters of the path that are not those of the subject. */
  readonly params: Readonly<Record<string, string>>
  readonly query: readonly (readonly [string, string])[]
  readonly headers: Readonly<Record<string, string>>
  readonly authorized: boolean
  readonly body: FuzzedBody
}

export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

const BOUNDARY = 'fuzzed-boundary'

export function toSent(request: FuzzedRequest, subject: Subject): SentRequest {
  const { route, params, query, authorized } = request
  const path = route.path.replaceAll(/\{(\w+)\*?\}/g, (whole, name: string) =>
    Object.hasOwn(params, name) ? encoded(params[name]!) : whole,
  )
  const filled = pathFor({ ...route, path, handle() {} }, subject)
  const pairs = query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&')
  const { text, type } = bodyText(request, subject)
  return {
    method: route.method,
    path: pairs === '' ? filled : `${filled}${filled.includes('?') ? '&' : '?'}${pairs}`,
    headers: {
      'a2a-version': route.path.startsWith('/a2a/{component}/v1/') ? '0.3' : '1.0',
      ...(type !== undefined && { 'content-type': type }),
      ...(authorized && { authorization: `Bearer ${KEY}` }),
      ...request.headers,
    },
    body: text,
  }
}

interface BodyText {
  readonly text: string | undefined
  readonly type?: string
}

function bodyText({ route, body }: FuzzedRequest, subject: Subject): BodyText {
  switch (body.kind) {
    case 'none':
      return { text: undefined }
    case 'json':
      return { text: jsonText(body.value), type: 'application/json' }
    case 'text':
      return { text: body.text, type: 'application/json' }
    case 'form':
      return {
        text: new URLSearchParams(body.fields.map(([name, value]) => [name, value])).toString(),
        type: 'application/x-www-form-urlencoded',
      }
    case 'multipart':
      return { text: multipart(body.fields), type: `multipart/form-data; boundary=${BOUNDARY}` }
    case 'mutated':
      return mutatedBody(route, subject, body.changes)
  }
}

function mutatedBody(route: FuzzedRoute, subject: Subject, changes: readonly Mutation[]): BodyText {
  const { body } = bodyFor({ ...route, handle() {} }, subject)
  if (!(body instanceof URLSearchParams)) {
    const valid = typeof body === 'string' ? (JSON.parse(body) as unknown) : {}
    return { text: jsonText(mutated(valid, changes)), type: 'application/json' }
  }
  const fields = mutated(Object.fromEntries(body), changes)
  const pairs = Object.entries(typeof fields === 'object' && fields !== null ? fields : {})
  return {
    text: new URLSearchParams(
      pairs.map(([name, value]) => [name, typeof value === 'string' ? value : jsonText(value)]),
    ).toString(),
    type: 'application/x-www-form-urlencoded',
  }
}

function multipart(fields: readonly (readonly [string, string])[]): string {
  const parts = fields.map(
    ([name, value]) => `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  return `${parts.join('')}--${BOUNDARY}--\r\n`
}

function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed())
}
