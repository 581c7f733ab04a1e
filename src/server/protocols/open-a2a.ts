/** Builds the A2A options from the configuration. */
import type { Registry } from '../../core/registry.ts'
import type { A2aOptions } from '../../protocols/a2a/index.ts'
import type { A2aConfig } from '../config/config.ts'

/** Throws `not_found` if a component that an option names is not in the registry. */
export async function openA2a({ signKey, ...options }: A2aConfig, registry: Registry | undefined): Promise<A2aOptions> {
  const named = [options.defaultComponent ?? [], Object.keys(options.agents ?? {})].flat()
  for (const id of named) registry?.get(id)
  if (signKey === undefined) return options
  const { readCardSigner } = await import('../secrets/card-signer.ts')
  return { ...options, signer: await readCardSigner(signKey) }
}
