/** A program in any language as a component: it is started for each run and speaks JSON lines on its standard streams. */
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
  /** Its whole environment. Default: `PATH`, `HOME`, the locale and other variables that programs need, but no other of the server's. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The longest line that it may write. Default: 4 MiB. */
  readonly lineBytesMax?: number
  /** How long it may take to end: after its result, and after it was told to stop. Default: 3,000. */
  readonly graceMs?: number
  /** Gets what it writes to stderr, line by line. Default: the server's own stderr, without control characters on a terminal. */
  readonly stderr?: (line: string, context: RunContext) => void
}

const LINE_BYTES_MAX = 4 * 1024 * 1024
const GRACE_MS = 3000

/**
 * The program knows nothing of what an earlier start of the same run did, so a run whose server died fails, unless the
 * definition says `resume`: then it is started again, what it says is matched with the log, and questions are answered from there.
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
    if (exit.code !== 0 && !child.killed) throw failed(`the process gave a result and ${described(exit)}`, exit)
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

/** Takes what the child says until its result. While a question waits nothing more is read: a paused run says nothing. */
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
