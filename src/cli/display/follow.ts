/** Follows a run for the user: shows it, handles Ctrl-C, and returns the exit code for its outcome. */
import { isTerminalEvent, terminalStatusOf } from '../../core/structure/run-status.ts'
import type { RunHandle, LoggedEvent } from '../../client/index.ts'
import { type Presenter, presenterFor } from './presenter.ts'
import { codeOfEnd, DETACHED, PAUSED } from '../exit-codes.ts'
import type { CommandIo } from '../io.ts'
import { isInteractive } from '../terminal/style.ts'
import { inOneLine } from '../terminal/text.ts'
import type { Target } from '../target/target.ts'

export interface FollowOptions {
  readonly json: boolean
  readonly after?: number
  /** Effect of a second Ctrl-C shortly after the first. Commands that only watch a run never stop it. */
  readonly secondInterrupt: 'stop' | 'none'
}

/** How long a first Ctrl-C waits for a second. */
const SECOND_MS = 2000

export async function followRun(
  run: RunHandle,
  target: Target,
  io: CommandIo,
  { json, after, secondInterrupt }: FollowOptions,
): Promise<number> {
  const presenter = presenterFor(io, { json })
  const interrupts = new Interrupts(run, target, presenter, secondInterrupt)
  const waits = isInteractive(io.stdout, io.env)
  let pause: { readonly event: Pause; readonly end: number } | undefined
  try {
    const events = run.events({
      signal: interrupts.signal,
      onGap: ({ earliest }) => presenter.note(`Events before ${earliest} were trimmed.`),
      ...(after !== undefined && { after }),
    })
    for await (const event of events) {
      presenter.event(event)
      if (isTerminalEvent(event)) return codeOfEnd(terminalStatusOf[event.type])
      if (event.type === 'run.paused') pause = { event, end: await endIfPaused(run, interrupts.signal) }
      if (event.type === 'run.resumed') pause = undefined
      // Only a pause at the end of the log is still open; earlier questions have been answered.
      if (pause === undefined || event.index < pause.end) continue
      if (!json) tellHowToAnswer(pause.event, presenter, target)
      if (!waits) return PAUSED
      pause = undefined
    }
    return codeOfEnd((await run.get()).status)
  } catch (cause) {
    if (interrupts.left) return DETACHED
    throw cause
  } finally {
    interrupts.close()
    presenter.close()
  }
}

type Pause = Extract<LoggedEvent, { type: 'run.paused' }>

/** Index of the last event if the run is paused, otherwise none. */
async function endIfPaused(run: RunHandle, signal: AbortSignal): Promise<number> {
  const { status, events } = await run.get({ signal })
  return status === 'paused' ? events - 1 : Infinity
}

function tellHowToAnswer({ run, data }: Pause, presenter: Presenter, { flags, local }: Target): void {
  const [first, second] = data.questions
  const one = first?.kind === 'approval' ? 'true' : '"your answer"'
  const example =
    second === undefined ? one : `'{"${inOneLine(first?.id, 300)}": …, "${inOneLine(second.id, 300)}": …}'`
  presenter.note(`  Answer with:  holdfast answer ${run} ${example}${flags}${local ? ' --file FILE' : ''}`)
}

/** Ctrl-C: once to leave, twice to stop the run. */
class Interrupts {
  readonly #run: RunHandle
  readonly #target: Target
  readonly #presenter: Presenter
  readonly #second: FollowOptions['secondInterrupt']
  readonly #controller = new AbortController()
  readonly #listener = (): void => this.#interrupt()
  #count = 0
  #timer: NodeJS.Timeout | undefined

  constructor(run: RunHandle, target: Target, presenter: Presenter, second: FollowOptions['secondInterrupt']) {
    this.#run = run
    this.#target = target
    this.#presenter = presenter
    this.#second = second
    process.on('SIGINT', this.#listener)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get left(): boolean {
    return this.signal.aborted
  }

  close(): void {
    clearTimeout(this.#timer)
    process.off('SIGINT', this.#listener)
  }

  #interrupt(): void {
    this.#count++
    clearTimeout(this.#timer)
    if (this.#count === 1) this.#leaveSoon()
    else if (this.#count === 2 && this.#second === 'stop') this.#stop()
    else this.#controller.abort()
  }

  #leaveSoon(): void {
    const { local, flags } = this.#target
    const { id } = this.#run
    const goesOn = local
      ? 'This process executes the run. The next server on this store recovers it as its component allows.'
      : `The run continues. Follow it again with:  holdfast tail ${id}${flags}`
    this.#presenter.note(this.#second === 'stop' ? `${goesOn}\nPress Ctrl-C again to stop it.` : goesOn)
    this.#timer = setTimeout(() => this.#controller.abort(), this.#second === 'stop' ? SECOND_MS : 0)
  }

  #stop(): void {
    this.#presenter.note('Stopping the run …')
    this.#run.stop({ reason: 'Ctrl-C', signal: this.signal }).catch((cause: unknown) => {
      if (!this.left) this.#presenter.note(`The run could not be stopped: ${String(cause)}`)
    })
  }
}
