/** Child side of the bench's request-response protocol over IPC. The process exits with its channel. */
import type { Reply } from './messages.ts'

/** The message type is the caller's responsibility. */
export function answer(handle: (command: never) => unknown): void {
  process.on('message', (command) => {
    void reply(handle, command).then((message) => process.send!(message))
  })
  process.on('disconnect', () => process.exit())
}

/** The first message of a process, sent unprompted. */
export function ready(value?: unknown): void {
  process.send!({ value } satisfies Reply<unknown>)
}

async function reply(handle: (command: never) => unknown, command: unknown): Promise<Reply<unknown>> {
  try {
    return { value: await handle(command as never) }
  } catch (cause) {
    return { error: String(cause) }
  }
}
