/** Shows a run again as it happened: pause, step, speed, any place. */
import { useEffect, useState } from 'react'
import { count, duration } from '../format.ts'
import type { RunWatch, Shown } from './run-watch.ts'

const SPEEDS = [1, 4, 16, 64]
/** A pause of hours is not sat through. */
const PAUSE_MS_MAX = 2000
const TICK_MS = 15

export function ReplayBar({
  watch,
  shown,
  onClose,
}: {
  readonly watch: RunWatch
  readonly shown: Shown
  readonly onClose: () => void
}) {
  const { events, upTo, count: all } = shown
  const [playing, setPlaying] = useState(true)
  const [speed, setSpeed] = useState(4)
  useEffect(() => watch.seek(0), [watch])
  useEffect(() => {
    if (!playing || upTo >= all) return
    const wait = gapBefore(events, upTo) / speed
    // Events that are closer than a tick are shown together.
    let next = upTo + 1
    for (let spent = wait; next < all && spent < TICK_MS; next++) spent += gapBefore(events, next) / speed
    const timer = setTimeout(() => watch.seek(next), Math.max(wait, TICK_MS))
    return () => clearTimeout(timer)
  }, [watch, events, upTo, all, playing, speed])
  const passed = upTo === 0 ? 0 : Date.parse(events[upTo - 1]!.time) - Date.parse(events[0]!.time)
  return (
    <div className="replay" role="group" aria-label="Replay">
      <button type="button" onClick={() => (upTo >= all ? (watch.seek(0), setPlaying(true)) : setPlaying(!playing))}>
        {upTo >= all ? 'Again' : playing ? 'Pause' : 'Play'}
      </button>
      <button type="button" onClick={() => (setPlaying(false), watch.seek(upTo - 1))} disabled={upTo === 0}>
        Back
      </button>
      <button type="button" onClick={() => (setPlaying(false), watch.seek(upTo + 1))} disabled={upTo >= all}>
        Step
      </button>
      <label className="inline">
        Speed
        <select value={speed} onChange={({ target }) => setSpeed(Number(target.value))}>
          {SPEEDS.map((each) => (
            <option key={each} value={each}>
              {each}×
            </option>
          ))}
        </select>
      </label>
      <input
        type="range"
        aria-label="Place in the log"
        min={0}
        max={all}
        value={upTo}
        onChange={({ target }) => (setPlaying(false), watch.seek(Number(target.value)))}
      />
      <span className="replay-place">
        {count(upTo)} of {count(all)} · {duration(passed)}
      </span>
      <button type="button" className="quiet" onClick={() => (watch.seek(undefined), onClose())}>
        End replay
      </button>
    </div>
  )
}

function gapBefore(events: Shown['events'], at: number): number {
  if (at <= 0 || at >= events.length) return 0
  return Math.min(Math.max(Date.parse(events[at]!.time) - Date.parse(events[at - 1]!.time), 0), PAUSE_MS_MAX)
}
