/** `holdfast replay`: replays a run with its original timing. */
import { isTerminalEvent, terminalStatusOf } from '../../core/structure/run-status.ts'
import { setTimeout as wait } from 'node:timers/promises'
import { toDuration, toSwitch } from '../../server/config/option-values.ts'
import { defineCommand } from '../command.ts'
import { presenterFor } from '../display/presenter.ts'
import { codeOfEnd, DETACHED, DONE } from '../exit-codes.ts'
import { targetOptions } from '../target/target.ts'
import { withTarget } from '../target/with-target.ts'

const SPEED_MAX = 1_000_000

export const replay = defineCommand({
  operands: ['RUN'],
  about: `Replays the events of a run with their original timing, or faster, as a terminal that followed the run would have shown
them. A run that has not finished is replayed up to its last event. The exit code is the run's outcome.`,
  examples: [
    { command: 'holdfast replay run_01k… --speed 4', description: 'four times as fast' },
    { command: 'holdfast replay run_01k… --speed 0 > text.txt', description: 'without pauses' },
  ],
  options: {
    ...targetOptions,
    speed: {
      value: 'FACTOR',
      fallback: '1',
      parse: toSpeed,
      help: 'Speed factor: 2 is twice as fast, 0 does not pause at all.',
    },
    'max-pause': {
      value: 'DURATION',
      fallback: '10s',
      parse: toDuration,
      help: 'Longest pause between two events.',
    },
    json: { fallback: 'false', parse: toSwitch, help: 'Print one JSON object per event.' },
  },
  run: ({ values, operands }, io) =>
    withTarget(values, io.env, async ({ client }) => {
      const handle = client.runs.open(operands[0]!)
      const { events: count } = await handle.get()
      const pace = new Pace(values.speed, values['max-pause'])
      const presenter = presenterFor(io, { json: values.json, now: () => pace.now })
      const aborted = new AbortController()
      const leave = (): void => aborted.abort()
      process.once('SIGINT', leave)
      try {
        const onGap = ({ earliest }: { earliest: number }): void =>
          presenter.note(`Events before ${earliest} were trimmed.`)
        for await (const event of handle.events({ signal: aborted.signal, onGap })) {
          await pace.until(Date.parse(event.time), aborted.signal)
          presenter.event(event)
          if (isTerminalEvent(event)) return codeOfEnd(terminalStatusOf[event.type])
          if (event.index >= count - 1) break
        }
        return DONE
      } catch (cause) {
        if (aborted.signal.aborted) return DETACHED
        throw cause
      } finally {
        process.off('SIGINT', leave)
        presenter.close()
      }
    }),
})

/** Maps the run's timeline to real time. */
class Pace {
  readonly #speed: number
  readonly #maxPauseMs: number
  #time: number | undefined
  #since = performance.now()

  constructor(speed: number, maxPauseMs: number) {
    this.#speed = speed
    this.#maxPauseMs = maxPauseMs
  }

  get now(): number {
    return (this.#time ?? Date.now()) + (performance.now() - this.#since) * this.#speed
  }

  async until(time: number, signal: AbortSignal): Promise<void> {
    const pause = this.#speed === 0 || this.#time === undefined ? 0 : (time - this.now) / this.#speed
    if (pause > 1) await wait(Math.min(pause, this.#maxPauseMs), undefined, { signal })
    this.#time = time
    this.#since = performance.now()
  }
}

function toSpeed(text: string): number {
  const speed = /^\d+(\.\d+)?x?$/.test(text) ? Number.parseFloat(text) : Number.NaN
  if (speed <= SPEED_MAX) return speed
  throw new Error(`${JSON.stringify(text)} is not a speed: use a factor such as 1, 0.5 or 10, or 0 for no pauses`)
}
