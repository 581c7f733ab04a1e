/** Live memory of this process after garbage collection, independent of the collector's timing. */
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

/** Buffers are freed one tick after their owners. */
const ROUNDS = 4

/** Live heap and buffers, in MB. */
export async function heldMegabytes(): Promise<number> {
  for (let round = 0; round < ROUNDS; round++) {
    collect()
    await turn()
  }
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / (1024 * 1024)
}
