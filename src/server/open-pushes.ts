/** Begins to deliver pushes, those that a node before this one left included, where they are sent at all. */
import type { A2aOptions } from '../protocols/a2a/index.ts'
import type { PushParts, Pushes } from '../protocols/a2a/push/index.ts'

export async function openPushes({
  options: a2a,
  ...parts
}: Omit<PushParts, 'options'> & { readonly options: A2aOptions }): Promise<Pushes | undefined> {
  if (a2a.push === undefined || a2a.push === false) return undefined
  // Not before it is known that they are wanted: most servers that are started in code send none.
  const [{ Pushes: Opened }, { pushOptions }] = await Promise.all([
    import('../protocols/a2a/push/index.ts'),
    import('../protocols/a2a/wire/options.ts'),
  ])
  return new Opened({ ...parts, options: pushOptions(a2a) ?? {} })
}
