/**
 * Bounds V8's young generation. On a machine with much memory it grows to more than a hundred megabytes under load and stays
 * there; what a server of streams makes dies young, so that a larger one saves no work.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** V8 doubles it, so that it ends at up to twice this. */
const ENOUGH_BYTES = 16 * 1024 * 1024
const LOOK_MS = 100

/** There is no setting that takes effect in a running process but the factor by which it grows. */
export function boundYoungGeneration(): void {
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
