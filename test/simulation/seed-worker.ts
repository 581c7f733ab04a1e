/** A thread that simulates ranges of seeds. */
import { parentPort } from 'node:worker_threads'
import { type SeedRange, simulateRange } from './seed-range.ts'

parentPort!.on('message', (range: SeedRange) => {
  void simulateRange(range).then((result) => parentPort!.postMessage(result))
})
