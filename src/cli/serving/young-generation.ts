/**
 * Bounds V8's young generation. On a machine with much memory it grows beyond 100 MB under load and stays there. A streaming server's
 * objects die young, so a larger one saves no work, and parallel collection only takes cores from the committing thread.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** V8 doubles it, so it ends at up to twice this. */
const ENOUGH_BYTES = 16 * 1024 * 1024
const LOOK_MS = 100

/** In a running process, only the growth factor can be changed, not the size. */
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
