/** Component for a program in any language: started once per run, speaks JSON lines, or plain text, on stdin and stdout. */
import { type Component, type Emission, type RunContext, WorkError } from '../../core/ports/component.ts'
import { messageOf } from '../../core/model/errors.ts'
import {
  aCount,
  aFunction,
  aList,
  anAmount,
  anObject,
  aString,
  type OptionRules,
} from '../../core/model/check-options.ts'
import { checkDefinition, type CommonDefinition, commonOf, commonRules } from '../shared/component.ts'
import { Child, type Exit } from './child.ts'
import { inheritedEnvironment } from './environment.ts'
import { LineError } from './lines.ts'
import { type Message, MessageError, parseMessage } from './messages.ts'
import { writeLine } from './write-line.ts'

/** Options of `processAgent`. */
export interface ProcessAgentDefinition extends Omit<CommonDefinition, 'output'> {
  readonly command: string
  /** Default: none. */
  readonly args?: readonly string[]
  /** Default: the working directory of the server. */
  readonly cwd?: string
  /** The whole environment. Default: `PATH`, `HOME`, the locale and similar variables, but none of the server's other ones. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /**
   * `lines`: JSON lines in both directions. `text`: for programs that do not know Holdfast. The input goes to stdin, which then
   * ends; stdout is the response, and the exit code the outcome. A schema: JSON lines whose result matches it. Default: `lines`.
   */
  readonly output?: 'lines' | 'text' | CommonDefinition['output']
  /** Maximum length of a line of JSON. Default: 4 MiB. */
  readonly maxLineBytes?: number
  /** Time to exit after its result, and after SIGTERM. Default: 3,000. */
  readonly graceMs?: number
  /** Receives each line of stderr. Default: the server's stderr, without control characters on a terminal. */
  readonly stderr?: (line: string, context: RunContext) => void
}

const LINE_BYTES_MAX = 4 * 1024 * 1024
const GRACE_MS = 3000

const RULES: OptionRules<ProcessAgentDefinition> = {
  ...commonRules,
  command: aString,
  output: {
    expected: '"lines", "text" or a schema',
    check: (value) => isFormat(value) || commonRules.output.check(value),
  },
  args: aList,
  cwd: aString,
  env: anObject,
  maxLineBytes: aCount,
  graceMs: anAmount,
  stderr: aFunction,
}

/**
 * The program does not know about earlier attempts, so after a crash the run fails, unless the definition says `resume`: then
 * it is started again, its output is matched with the log, and recorded answers are replayed.
 */
export function processAgent(definition: ProcessAgentDefinition): Component {
  checkDefinition('processAgent', definition, RULES, ['command'])
  const { output, ...common } = definition
  return {
    ...commonOf({ recovery: 'fail', ...common, ...(!isFormat(output) && output !== undefined && { output }) }),
    kind: 'agent',
    run: (input, context) => run(definition, input, context),
  }
}

function isFormat(output: unknown): output is 'lines' | 'text' {
  return output === 'lines' || output === 'text'
}

async function* run(
  definition: ProcessAgentDefinition,
  input: unknown,
  context: RunContext,
): AsyncGenerator<Emission, void, void> {
  const { runId: id, sessionId: session, owner, metadata, attempt, signal } = context
  signal.throwIfAborted()
  const child = start(definition, context)
  const stop = (): void => void child.kill()
  signal.addEventListener('abort', stop, { once: true })
  try {
    if (definition.output === 'text') return yield* relay(child, input)
    await child.write({ type: 'start', input: input ?? null, run: id, session, owner, metadata, attempt })
    const result = yield* converse(child, context)
    const exit = await child.finish()
    if (exit.code !== 0 && !child.killed) throw exitFailure(`the process ${exitText(exit)} after its result`, exit)
    const { output, usage } = result
    yield {
      type: 'run.completed',
      data: { ...(output !== undefined && { output }), ...(usage !== undefined && { usage }) },
    }
  } catch (thrown) {
    await child.kill()
    signal.throwIfAborted()
    throw withHint(thrown)
  } finally {
    signal.removeEventListener('abort', stop)
    await child.kill()
  }
}

/** The output of a program that speaks plain text, as it is printed. */
async function* relay(child: Child, input: unknown): AsyncGenerator<Emission, void, void> {
  await child.end(typeof input === 'string' ? input : JSON.stringify(input ?? null))
  for await (const text of child.text()) yield text
  const exit = await child.exit
  if (exit.code !== 0) throw exitFailure(`the process ${exitText(exit)}`, exit)
}

function start({ id, stderr, ...definition }: ProcessAgentDefinition, context: RunContext): Child {
  const {
    command,
    args = [],
    cwd,
    env = inheritedEnvironment(),
    maxLineBytes = LINE_BYTES_MAX,
    graceMs = GRACE_MS,
  } = definition
  const pass = stderr ?? ((line) => writeLine(process.stderr, `${id} ${context.runId}: ${line}`))
  return new Child({
    command,
    args,
    maxLineBytes,
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
        throw new WorkError(message.failure)
      case 'reject':
        return context.reject(message.reason)
    }
  }
}

function withoutResult(exit: Exit): WorkError {
  return exitFailure(`the process ${exitText(exit)} without a result`, exit)
}

function exitText({ code, signal }: Exit): string {
  return signal === null ? `exited with code ${code}` : `was killed by ${signal}`
}

function exitFailure(message: string, { code, signal }: Exit): WorkError {
  return new WorkError({ code: 'agent_failed', message, details: { exitCode: code, signal } })
}

function withHint(thrown: unknown): unknown {
  if (thrown instanceof LineError || thrown instanceof MessageError)
    return new WorkError({ code: 'protocol_violation', message: messageOf(thrown) })
  const { code, syscall = '' } = thrown as { code?: unknown; syscall?: string }
  if (typeof code !== 'string' || !syscall.startsWith('spawn')) return thrown
  return new WorkError({ code: 'unsupported', message: `the process could not be started: ${code}` })
}
