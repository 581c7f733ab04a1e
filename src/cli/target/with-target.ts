/** Opens a target for a command, and turns client errors into messages for the user. */
import { ApiError, ConnectionError } from '../../client/index.ts'
import type { Environment } from '../../server/config/options.ts'
import { openTarget, type OpenOptions, type Target, type TargetValues } from './target.ts'

export async function withTarget(
  values: TargetValues,
  env: Environment,
  work: (target: Target) => Promise<number>,
  options: OpenOptions = {},
): Promise<number> {
  const target = await openTarget(values, env, options)
  try {
    return await work(target)
  } catch (cause) {
    throw withAdvice(cause, target)
  } finally {
    await target.close()
  }
}

export function withAdvice(cause: unknown, { url, key, flags, local }: Omit<Target, 'client' | 'close'>): unknown {
  if (cause instanceof ConnectionError) return new Error(`lost the connection to ${url}: ${cause.message}`, { cause })
  if (!(cause instanceof ApiError)) return cause
  if (cause.code === 'unauthenticated') {
    const next = key === undefined ? 'pass a key with --key or HOLDFAST_KEY' : 'the key is not valid there'
    return new Error(`${url} requires authentication: ${next}`, { cause })
  }
  if (cause.code === 'not_found' && cause.run !== undefined) {
    const where = local ? 'in this store' : `at ${url}, or it belongs to another principal`
    return new Error(`there is no run ${cause.run} ${where}: list runs with  holdfast runs${flags}`, {
      cause,
    })
  }
  return cause
}
