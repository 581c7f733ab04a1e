/** Starts the delivery of push notifications, including those left by earlier nodes, if pushes are enabled. */
import type { A2aOptions } from '../../protocols/a2a/index.ts'
import type { PushParts, Pushes } from '../../protocols/a2a/push/index.ts'

export async function openPushes({
  options: a2a,
  ...deps
}: Omit<PushParts, 'options'> & { readonly options: A2aOptions }): Promise<Pushes | undefined> {
  if (a2a.push === undefined || a2a.push === false) return undefined
  // Imported only if needed: most embedded servers send none.
  const [{ Pushes: Opened }, { pushOptions }] = await Promise.all([
    import('../../protocols/a2a/push/index.ts'),
    import('../../protocols/a2a/wire/options.ts'),
  ])
  return new Opened({ ...deps, options: pushOptions(a2a) ?? {} })
}
