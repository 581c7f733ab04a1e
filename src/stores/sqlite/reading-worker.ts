/**
 * The reading thread: reads what is durable, through a connection of its own. A read that the disk does not finish so stops
 * neither the event loop nor a commit.
 */
import { isMarkedAsUntransferable, type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { isHoldfastError, messageOf } from '../../core/errors.ts'
import { type LogPage, type PageRequest, readPage } from './log-page.ts'
import { Reader } from './reader.ts'
import type { Reading, ReadingFault, ReadingReply, ReadingRequest } from './reading-messages.ts'

/** All that can be asked of the thread. */
export function readingsOf(reader: Reader) {
  const { runs, documents, usage } = reader
  return {
    opening: () => reader.opening(),
    page: (request: PageRequest) => readPage(reader, request),
    run: (id: string) => runs.byId(id),
    newcomer: reader.newcomer.bind(reader),
    runByKey: runs.byKey.bind(runs),
    runs: runs.list.bind(runs),
    runsFollowing: runs.following.bind(runs),
    finishedRuns: runs.finished.bind(runs),
    document: documents.get.bind(documents),
    documents: documents.list.bind(documents),
    documentsFollowing: documents.all.bind(documents),
    usage: usage.of.bind(usage),
    usageTotal: usage.total.bind(usage),
    usageLargest: usage.largest.bind(usage),
    size: reader.size.bind(reader),
  }
}

function serve(port: MessagePort, path: string): void {
  let reader: Reader | undefined
  let readings: Record<string, (...args: never[]) => unknown> | undefined
  const open = (): void => {
    if (readings === undefined) readings = readingsOf((reader = new Reader(path)))
  }
  try {
    open()
  } catch {
    // Tried again, and told, with each request.
  }
  port.on('message', (requests: readonly ReadingRequest[] | 'close') => {
    if (requests === 'close') {
      reader?.close()
      port.close()
      return
    }
    const moved: ArrayBuffer[] = []
    const answer = ({ name, args }: ReadingRequest): Reading => {
      try {
        open()
        const result = readings![name]!(...(args as never[]))
        return { result: name === 'page' ? handedOver(result as LogPage, moved) : result }
      } catch (cause) {
        return { fault: faultOf(cause) }
      }
    }
    const reply: ReadingReply = requests.map(answer)
    port.postMessage(reply, moved)
  })
}

/** The bytes of a page are handed over, and not copied. */
function handedOver(page: LogPage, moved: ArrayBuffer[]): LogPage {
  const { slice } = page
  if (slice === undefined) return page
  // Node keeps small buffers in a pool, which cannot be handed over.
  const bytes = isMarkedAsUntransferable(slice.bytes.buffer) ? new Uint8Array(slice.bytes) : slice.bytes
  moved.push(bytes.buffer as ArrayBuffer)
  return { ...page, slice: { ...slice, bytes } }
}

function faultOf(cause: unknown): ReadingFault {
  if (!isHoldfastError(cause)) return { message: messageOf(cause) }
  const { code, message, details } = cause
  return { code, message, ...(details !== undefined && { details }) }
}

if (parentPort !== null) serve(parentPort, (workerData as { readonly path: string }).path)
