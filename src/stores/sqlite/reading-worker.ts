/**
 * Reading thread: reads durable data through its own connection, so that a read that the disk does not finish blocks neither
 * the event loop nor commits.
 */
import { isMarkedAsUntransferable, type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { isHoldfastError, messageOf } from '../../core/model/errors.ts'
import type { LogPage } from './log-page.ts'
import { Reader } from './reader.ts'
import { READY, type Reading, type ReadingFault, type ReadingReply, type ReadingRequest } from './reading-messages.ts'
import { readingsOf } from './readings.ts'
import { inSharedMemory } from './shared-pages.ts'

function serve(port: MessagePort, path: string): void {
  let reader: Reader | undefined
  let readings: Record<string, (...args: never[]) => unknown> | undefined
  const open = (): void => {
    if (readings === undefined) readings = readingsOf((reader = new Reader(path)))
  }
  port.on('message', (requests: readonly ReadingRequest[] | 'close') => {
    if (requests === 'close') {
      reader?.close()
      port.close()
      return
    }
    const moved: ArrayBuffer[] = []
    const answer = ({ name, args, mayShare }: ReadingRequest): Reading => {
      try {
        open()
        const result = readings![name]!(...(args as never[]))
        return { result: name === 'page' ? handedOver(result as LogPage, mayShare ? undefined : moved) : result }
      } catch (cause) {
        return { fault: faultOf(cause) }
      }
    }
    const reply: ReadingReply = requests.map(answer)
    port.postMessage(reply, moved)
  })
  port.postMessage(READY)
}

/** Prepares a page for hand-over: copied to shared memory, or added to `moved` for transfer. */
function handedOver(page: LogPage, moved: ArrayBuffer[] | undefined): LogPage {
  const { slice } = page
  if (slice === undefined) return page
  const bytes = moved === undefined ? inSharedMemory(slice.bytes) : transferable(slice.bytes)
  moved?.push(bytes.buffer as ArrayBuffer)
  return { ...page, slice: { ...slice, bytes } }
}

/** Node keeps small buffers in a pool, which cannot be transferred. */
function transferable(bytes: Uint8Array): Uint8Array {
  return isMarkedAsUntransferable(bytes.buffer) ? new Uint8Array(bytes) : bytes
}

function faultOf(cause: unknown): ReadingFault {
  if (!isHoldfastError(cause)) return { message: messageOf(cause) }
  const { code, message, details } = cause
  return { code, message, ...(details !== undefined && { details }) }
}

if (parentPort !== null) serve(parentPort, (workerData as { readonly path: string }).path)
