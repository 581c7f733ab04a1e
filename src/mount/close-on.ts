/** Closes an instance on signals, then lets the process end as usual. */

/** Returns a function that stops listening. */
export function closeOn(signals: readonly NodeJS.Signals[], close: () => Promise<void>): () => void {
  const stop = (): void => {
    for (const signal of signals) process.off(signal, listener)
  }
  const listener = (signal: NodeJS.Signals): void => {
    void close()
      .catch(() => {}) // already logged
      .finally(() => {
        stop()
        // Other listeners decide themselves when the process ends.
        if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
      })
  }
  for (const signal of signals) process.on(signal, listener)
  return stop
}
