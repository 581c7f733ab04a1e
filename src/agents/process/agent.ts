/** Component for a program in any language: started once per run, speaks JSON lines on stdin and stdout. */
import { type Component, type Emission, type RunContext, WorkFailure } from '../../core/ports/component.ts'
import { messageOf } from '../../core/model/errors.ts'
import { type CommonDefinition, commonOf } from '../shared/component.ts'
import { Child, type Exit } from './child.ts'
import { inheritedEnvironment } from './environment.ts'
import { LineError } from './lines.ts'
import { type Message, MessageError, parseMessage } from './messages.ts'
import { writeLine } from './write-line.ts'

export interface ProcessAgentDefinition extends CommonDefinition {
  readonly command: string
  readonly args?: readonly string[]
  readonly cwd?: string
  /** The whole environment. Default: `PATH`, `HOME`, the locale and similar variables, but none of the server's other ones. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Maximum length of a line. Default: 4 MiB. */
  readonly lineBytesMax?: number
  /** Time to exit after its result, and after SIGTERM. Default: 3,000. */
  readonly graceMs?: number
  /** Receives each line of stderr. Default: the server's stderr, without control characters on a terminal. */
  readonly stderr?: (line: string, context: RunContext) => void
}

const LINE_BYTES_MAX = 4 * 1024 * 1024
const GRACE_MS = 3000

/**
 * The program does not know about earlier attempts, so after a crash the run fails, unless the definition says `resume`: then
 * it is started again, its output is matched with the log, and recorded answers are replayed.
 */
export function processAgent(definition: ProcessAgentDefinition): Component {
  return {
    ...commonOf({ recovery: 'fail', ...definition }),
    kind: 'agent',
    run: (input, context) => run(definition, input, context),
  }
}

async function* run(
  definition: ProcessAgentDefinition,
  input: unknown,
  context: RunContext,
): AsyncGenerator<Emission, void, void> {
  const { run: id, session, owner, metadata, attempt, signal } = context
  signal.throwIfAborted()
  const child = start(definition, context)
  const stop = (): void => void child.kill()
  signal.addEventListener('abort', stop, { once: true })
  try {
    await child.write({ type: 'start', input: input ?? null, run: id, session, owner, metadata, attempt })
    const result = yield* converse(child, context)
    const exit = await child.finish()
    if (exit.code !== 0 && !child.killed) throw failed(`the process ${described(exit)} after its result`, exit)
    const { output, usage } = result
    yield {
      type: 'run.completed',
      data: { ...(output !== undefined && { output }), ...(usage !== undefined && { usage }) },
    }
  } catch (thrown) {
    await child.kill()
    signal.throwIfAborted()
    throw explained(thrown)
  } finally {
    signal.removeEventListener('abort', stop)
    await child.kill()
  }
}

function start({ id, stderr, ...definition }: ProcessAgentDefinition, context: RunContext): Child {
  const {
    command,
    args = [],
    cwd,
    env = inheritedEnvironment(),
    lineBytesMax = LINE_BYTES_MAX,
    graceMs = GRACE_MS,
  } = definition
  const pass = stderr ?? ((line) => writeLine(process.stderr, `${id} ${context.run}: ${line}`))
  return new Child({
    command,
    args,
    lineBytesMax,
    graceMs,
    stderr: (line) => pass(line, context),
    env,
    ...(cwd !== undefined && { cwd }),
  })
}

/** Reads messages until the result. Stops reading while a question is open: a paused run emits nothing. */
async function* converse(
  child: Child,
  context: RunContext,
): AsyncGenerator<Emission, Extract<Message, { type: 'result' }>, void> {
  for (;;) {
    const line = await child.next()
    if (line === undefined) throw withoutResult(await child.finish())
    if (line.trim() === '') continue
    const message = parseMessage(line)
    switch (message.type) {
      case 'text':
        yield message.text
        break
      case 'event':
        yield message.event
        break
      case 'ask':
        await child.write({ type: 'answer', id: message.id, answer: (await context.ask(message.question)) ?? null })
        break
      case 'result':
        return message
      case 'error':
        throw new WorkFailure(message.failure)
      case 'reject':
        return context.reject(message.reason)
    }
  }
}

function withoutResult(exit: Exit): WorkFailure {
  return failed(`the process ${described(exit)} without a result`, exit)
}

function described({ code, signal }: Exit): string {
  return signal === null ? `exited with code ${code}` : `was killed by ${signal}`
}

function failed(message: string, { code, signal }: Exit): WorkFailure {
  return new WorkFailure({ code: 'agent_failed', message, details: { exitCode: code, signal } })
}

function explained(thrown: unknown): unknown {
  if (thrown instanceof LineError || thrown instanceof MessageError)
    return new WorkFailure({ code: 'protocol_violation', message: messageOf(thrown) })
  const { code, syscall = '' } = thrown as { code?: unknown; syscall?: string }
  if (typeof code !== 'string' || !syscall.startsWith('spawn')) return thrown
  return new WorkFailure({ code: 'unsupported', message: `the process could not be started: ${code}` })
}
