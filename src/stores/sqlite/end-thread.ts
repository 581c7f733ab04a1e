/** Closes a worker thread's port, so that the thread can end. */
import type { MessagePort } from 'node:worker_threads'

export function endThread(port: MessagePort): void {
  // Deno's ports of worker threads have no `close`; its threads have one themselves.
  if (typeof port.close === 'function') port.close()
  else (globalThis as { close?(): void }).close?.()
}
