/** A thread that simulates the ranges of seeds that it is sent. */
import { parentPort } from 'node:worker_threads'
import { type SeedRange, simulateRange } from './seed-range.ts'

parentPort!.on('message', (range: SeedRange) => {
  void simulateRange(range).then((result) => parentPort!.postMessage(result))
})
