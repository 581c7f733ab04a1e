/** Builds the A2A options from the configuration. */
import type { Registry } from '../core/registry.ts'
import type { A2aOptions } from '../protocols/a2a/index.ts'
import type { A2aConfig } from './config.ts'

/** Throws `not_found` if the default component is not served. */
export async function openA2a({ signKey, ...options }: A2aConfig, registry: Registry): Promise<A2aOptions> {
  if (options.default !== undefined) registry.get(options.default)
  if (signKey === undefined) return options
  const { readCardSigner } = await import('./card-signer.ts')
  return { ...options, signer: await readCardSigner(signKey) }
}
