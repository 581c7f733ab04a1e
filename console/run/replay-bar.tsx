/** Replays a run as it happened: pause, step, speed, seek. */
import { useEffect, useState } from 'react'
import { count, duration } from '../format.ts'
import type { RunWatch, ShownRun } from './run-watch.ts'

const SPEEDS = [1, 4, 16, 64]
/** Longer pauses are shortened to this. */
const SILENCE_MS = 2000
/** Pauses from this length are announced, so that the replay does not seem to hang. */
const TOLD_MS = 3000
const TICK_MS = 15
/** Maximum delay of a timer. */
const TIMER_MS_MAX = 2 ** 31 - 1

export interface ReplayBarProps {
  readonly watch: RunWatch
  readonly shown: ShownRun
  readonly onClose: () => void
}

export function ReplayBar({ watch, shown, onClose }: ReplayBarProps) {
  const { events, upTo, count: all } = shown
  const [playing, setPlaying] = useState(true)
  const [speed, setSpeed] = useState(1)
  const [cuts, setCuts] = useState(false)
  const wait = gapBefore(events, upTo, cuts) / speed
  useEffect(() => watch.seek(0), [watch])
  useEffect(() => {
    if (!playing || upTo >= all) return
    // Events closer than one tick are shown together.
    let next = upTo + 1
    for (let spent = wait; next < all; next++) {
      spent += gapBefore(events, next, cuts) / speed
      if (spent >= TICK_MS) break
    }
    const timer = setTimeout(() => watch.seek(next), Math.min(Math.max(wait, TICK_MS), TIMER_MS_MAX))
    return () => clearTimeout(timer)
  }, [watch, events, upTo, all, playing, speed, cuts, wait])
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
      <label className="inline">
        <input type="checkbox" checked={cuts} onChange={({ target }) => setCuts(target.checked)} />
        Cut silences short
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
        {playing && wait >= TOLD_MS && ` · nothing for ${duration(wait)}`}
      </span>
      <button type="button" className="quiet" onClick={() => (watch.seek(undefined), onClose())}>
        End replay
      </button>
    </div>
  )
}

/** Time between an event and the previous one. */
function gapBefore(events: ShownRun['events'], at: number, cuts: boolean): number {
  if (at <= 0 || at >= events.length) return 0
  const gap = Math.max(Date.parse(events[at]!.time) - Date.parse(events[at - 1]!.time), 0)
  return cuts ? Math.min(gap, SILENCE_MS) : gap
}
