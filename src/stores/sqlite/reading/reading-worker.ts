/**
 * Code of the reading thread: reads durable data through its own connection, so that a read that the disk does not finish blocks
 * neither the event loop nor commits.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { endThread } from '../end-thread.ts'
import { READY, type ReadingRequest } from './reading-messages.ts'
import { ReadingService } from './reading-service.ts'

function serve(port: MessagePort, path: string): void {
  const service = new ReadingService(path)
  port.on('message', (requests: readonly ReadingRequest[] | 'close') => {
    if (requests === 'close') {
      service.close()
      endThread(port)
      return
    }
    const moved: ArrayBuffer[] = []
    port.postMessage(service.answer(requests, moved), moved)
  })
  port.postMessage(READY)
  try {
    service.open() // so that the first request finds the file open
  } catch {
    // The first request reports it.
  }
}

if (parentPort !== null) serve(parentPort, (workerData as { readonly path: string }).path)
