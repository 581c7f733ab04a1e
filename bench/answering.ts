/** The far side of a question: a process that the bench started answers over its IPC channel and ends with it. */
import type { Reply } from './messages.ts'

/** What comes in is what the bench sends to this process: each file says what that is. */
export function answer(handle: (command: never) => unknown): void {
  process.on('message', (command) => {
    void reply(handle, command).then((message) => process.send!(message))
  })
  process.on('disconnect', () => process.exit())
}

/** The first thing that a process says, unasked. */
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
