/** Code of the committing thread, the only writer of the database file. Its stalls (sync, checkpoint) never block a stream. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { endThread } from '../end-thread.ts'
import { damageOr } from '../file/sqlite-errors.ts'
import { Committer, failure } from './committer.ts'
import type { CommitReply, CommitRequest, ReadRequests, ThreadOptions } from './committing-messages.ts'

async function serve(port: MessagePort, options: ThreadOptions): Promise<void> {
  const reply = (message: CommitReply): void => port.postMessage(message)
  let committer: Committer
  try {
    committer = new Committer(options, (message) => reply({ kind: 'waiting', message }))
  } catch (cause) {
    reply(failure(damageOr(options.path, cause)))
    endThread(port)
    return
  }
  const { warnings, identity, isDeleting, lost } = committer
  reply({ kind: 'opened', warnings, identity, isDeleting, ...(lost && { lost }) })
  // Loaded after the reply, so that opening does not wait for it.
  const { ReadingService } = await import('../reading/reading-service.ts')
  const reading = new ReadingService(options.path)
  port.on('message', (request: CommitRequest | ReadRequests | 'check' | 'close') => {
    if (typeof request === 'object' && 'reads' in request) {
      const moved: ArrayBuffer[] = []
      port.postMessage({ kind: 'read', reply: reading.answer(request.reads, moved) } satisfies CommitReply, moved)
      return
    }
    const answer = request === 'close' ? undefined : request === 'check' ? committer.check() : committer.commit(request)
    if (answer !== undefined) reply(answer)
    // After a failure the in-memory state cannot be trusted: the store reopens the file.
    if (answer !== undefined && answer.kind !== 'failed') return
    reading.close()
    committer.close()
    endThread(port)
  })
}

if (parentPort !== null) void serve(parentPort, workerData as ThreadOptions)
