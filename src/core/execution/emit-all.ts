/** Appends what an iterator yields to the log, under its scope's actor. */
import type { Emission } from '../ports/component.ts'
import { batchOf, encodeBatch, encodeOrReplace } from './emission.ts'
import type { ActorScope } from './actor-scope.ts'

/** Resolves with the return value of the iterator, or with what `endOf` returns for an emission that ends it. */
export async function emitAll(
  { host, actor, onUnserializable }: ActorScope,
  iterator: AsyncIterator<Emission, unknown>,
  endOf: (emission: Emission) => { readonly output: unknown } | undefined,
  aborted: Promise<never>,
): Promise<unknown> {
  try {
    for (;;) {
      const { done, value } = await Promise.race([iterator.next(), aborted])
      if (done === true) return value
      const ended = endOf(value)
      if (ended !== undefined) return ended.output
      const batch = batchOf(value)
      const wait =
        batch === undefined
          ? host.append(encodeOrReplace(value, host.bounds, onUnserializable, actor))
          : host.appendTogether(encodeBatch(batch, host.bounds, actor))
      if (wait !== undefined) await wait
    }
  } finally {
    void close(iterator)
    host.endOutput(actor)
  }
}

async function close(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.()
  } catch {
    // The end is already recorded.
  }
}
