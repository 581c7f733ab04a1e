/** A JSON Web Key Set from a file or URL, with limits on fetch time, size and frequency. */
import { readFile } from 'node:fs/promises'
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import type { Clock } from '../../core/ports/clock.ts'
import { HoldfastError, messageOf } from '../../core/model/errors.ts'

type Jose = typeof import('jose')

const FETCH_TIMEOUT_MS = 5000
const FETCH_BYTES_MAX = 1024 * 1024
/** Minimum interval between refetches for unknown key ids, because callers choose the ids. */
const COOLDOWN_MS = 30_000
const CACHE_MS = 10 * 60_000
/** After a failed fetch, requests fail immediately for this long. */
const FAILURE_COOLDOWN_MS = 1000

/** Resolves a token's key. Throws a jose error for an invalid token, `unavailable` if the key set cannot be fetched. */
export async function openKeySet(jose: Jose, source: string, clock: Clock): Promise<JWTVerifyGetKey> {
  if (!/^https?:/i.test(source)) return localKeySet(jose, source)
  if (!URL.canParse(source))
    throw new HoldfastError('invalid_request', `${JSON.stringify(source)} is not the URL of a key set`)
  return remoteKeySet(jose, new URL(source), clock)
}

async function localKeySet(jose: Jose, path: string): Promise<JWTVerifyGetKey> {
  try {
    const set = JSON.parse(await readFile(path, 'utf8')) as JSONWebKeySet
    if (!Array.isArray(set.keys) || set.keys.length === 0)
      throw new Error('the key set must be a JSON object with a non-empty list "keys"')
    return jose.createLocalJWKSet(set)
  } catch (cause) {
    throw new HoldfastError('invalid_request', `key set ${path} cannot be used: ${messageOf(cause)}`, { cause })
  }
}

function remoteKeySet(jose: Jose, url: URL, clock: Clock): JWTVerifyGetKey {
  const keys = jose.createRemoteJWKSet(url, {
    timeoutDuration: FETCH_TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: CACHE_MS,
    [jose.customFetch]: boundedFetch(clock),
  })
  const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = jose.errors
  const faultsOfTheToken = [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported]
  return async (header, token) => {
    try {
      return await keys(header, token)
    } catch (cause) {
      if (faultsOfTheToken.some((fault) => cause instanceof fault)) throw cause
      const options = { cause, retryAfterMs: FAILURE_COOLDOWN_MS }
      throw new HoldfastError('unavailable', 'credentials cannot be checked right now', options)
    }
  }
}

/** jose already limits fetches to one at a time with a timeout; this adds a size limit and a cooldown after failures. */
function boundedFetch(clock: Clock): (url: string, init: RequestInit) => Promise<Response> {
  let failure: { readonly at: number; readonly cause: unknown } | undefined
  return async (url, init) => {
    if (failure !== undefined && Math.abs(clock.now() - failure.at) < FAILURE_COOLDOWN_MS) throw failure.cause
    try {
      const response = await fetch(url, init)
      const body = await readBounded(response)
      if (response.status !== 200) throw new Error(`${url} responded with status ${response.status}`)
      failure = undefined
      return new Response(body, { status: 200 })
    } catch (cause) {
      failure = { at: clock.now(), cause }
      throw cause
    }
  }
}

async function readBounded(response: Response): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  // Throwing out of the loop cancels the body and closes the connection.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > FETCH_BYTES_MAX)
      throw new Error(`the response of ${response.url} is larger than ${FETCH_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return new Blob(chunks)
}
