/** Fetches small documents of an upstream, for discovery. */
import { type HeaderSource, headersFrom } from '../../client/header-source.ts'
import { readJson, requestOk } from '../shared/remote.ts'

const TIMEOUT_MS = 5000

export async function fetchJson(url: string, headers: HeaderSource | undefined, signal: AbortSignal): Promise<unknown> {
  return readJson(await requestOk({ url, headers: await headersFrom(headers), signal, timeoutMs: TIMEOUT_MS }))
}

export function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function textIn(object: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = object[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}
