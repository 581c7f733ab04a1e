/** How much memory this process holds: what is left after a collection, not the peak that the collector's timing decides. */
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

/** Buffers are freed a turn after the objects that owned them. */
const ROUNDS = 4

/** Live bytes of the heap and of the buffers beside it, in MB. */
export async function heldMegabytes(): Promise<number> {
  for (let round = 0; round < ROUNDS; round++) {
    collect()
    await turn()
  }
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / (1024 * 1024)
}
