/** The far side of a question: a process that the bench started answers over its IPC channel and ends with it. */
import type { Reply } from './messages.ts'

export function answer<Command, Value>(handle: (command: Command) => Promise<Value> | Value): void {
  process.on('message', (command: Command) => {
    void reply(handle, command).then((message) => process.send!(message))
  })
  process.on('disconnect', () => process.exit())
}

/** The first thing that a process says, unasked. */
export function ready<Value>(value: Value): void {
  process.send!({ value } satisfies Reply<Value>)
}

async function reply<Command, Value>(
  handle: (command: Command) => Promise<Value> | Value,
  command: Command,
): Promise<Reply<Value>> {
  try {
    return { value: await handle(command) }
  } catch (cause) {
    return { error: String(cause) }
  }
}
