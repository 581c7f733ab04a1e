/**
 * How V8 keeps its young generation. On a machine with much memory it grows to more than a hundred megabytes under load and
 * stays there; what a server of streams makes dies young, so that a larger one saves no work. For the same reason there is
 * little to share out in collecting it, and the threads that would help only take the cores from the committing thread.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** V8 doubles it, so that it ends at up to twice this. */
const ENOUGH_BYTES = 16 * 1024 * 1024
const LOOK_MS = 100

/** For its size there is no setting that takes effect in a running process but the factor by which it grows. */
export function boundYoungGeneration(): void {
  setFlagsFromString('--no-parallel-scavenge')
  const timer = setInterval(() => {
    if (youngBytes() < ENOUGH_BYTES) return
    setFlagsFromString('--semi-space-growth-factor=1')
    clearInterval(timer)
  }, LOOK_MS)
  timer.unref()
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0
}
