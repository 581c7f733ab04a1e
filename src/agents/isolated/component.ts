/** A component whose module runs in worker threads: an endless loop, a leak or `process.exit` in it fails only one run. */
import { workerData } from 'node:worker_threads'
import { aCount, anObject, aString, checkOptions, type OptionRules } from '../../core/model/check-options.ts'
import { componentRules } from '../../core/schema/component-options.ts'
import type { Component } from '../../core/ports/component.ts'
import type { ValueSchema } from '../../core/ports/schema.ts'
import type { RedactOptions } from '../../core/redaction/redaction.ts'
import { HoldfastError, messageOf } from '../../core/model/errors.ts'
import { IsolatedRun } from './isolated-run.ts'
import { checkOnly, fromCheck, fromJsonSchema } from '../../core/schema/json-schema.ts'
import { loadComponent, type ModuleDescription } from './load-component.ts'
import type { ThreadData } from './protocol.ts'
import { Semaphore } from '../shared/semaphore.ts'
import { IsolatedThread } from './thread.ts'

/** Options of `isolated`. */
export interface IsolatedOptions<Input = unknown> {
  /** Name of the exported component. Default: the module's only component. */
  readonly export?: string
  /** Heap limit of each thread in megabytes; a run that needs more fails. Buffers are outside the heap. Default: 256. */
  readonly memoryMb?: number
  /** Maximum threads, and so concurrent runs; further runs wait. Default: 8. */
  readonly maxConcurrentRuns?: number
  /** Timeout for loading the module. Default: 30,000. */
  readonly loadTimeoutMs?: number
  /**
   * Checks inputs in the server's thread, before a run is accepted. Default: the JSON Schema of the component's own input schema.
   * That schema itself runs in the worker thread, and rejects the run if the input does not match.
   */
  readonly input?: ValueSchema<Input, unknown>
  /** Redaction for its runs, applied in the server's thread. A component with its own `redact` is refused. Default: nothing. */
  readonly redact?: RedactOptions
}

const RULES: OptionRules<IsolatedOptions> = {
  export: aString,
  memoryMb: aCount,
  maxConcurrentRuns: aCount,
  loadTimeoutMs: aCount,
  input: componentRules.input,
  redact: anObject,
}

const MEMORY_MB = 256
const THREADS_MAX = 8
const LOAD_MS = 30_000

/**
 * Loads a module's component into a new thread for each run. Its id, recovery mode and limits are read once, in a thread.
 * Inside such a thread it returns the component itself, which is isolated already.
 */
export async function isolated<Input = unknown>(
  module: URL | string,
  options: IsolatedOptions<Input> = {},
): Promise<Component<Input>> {
  const {
    export: name,
    memoryMb = MEMORY_MB,
    maxConcurrentRuns = THREADS_MAX,
    loadTimeoutMs = LOAD_MS,
    input,
    redact,
  } = options
  checkOptions('isolated()', options, RULES)
  const href = new URL(module).href
  if ((workerData as Partial<ThreadData> | null)?.holdfastIsolated === true)
    return (await loadComponent(href, name)) as Component<Input>
  const openThread = (): IsolatedThread => new IsolatedThread({ module: href, export: name, memoryMb })
  const { facts, ...schemas } = await describe(openThread(), href, loadTimeoutMs)
  const accepted = input ?? (schemas.input && fromJsonSchema<Input>(schemas.input))
  const slots = new Semaphore(maxConcurrentRuns)
  return {
    ...facts,
    onPause: 'release',
    // The thread parses the input as it was sent.
    ...(accepted !== undefined && { input: checkOnly(accepted) }),
    ...(schemas.output !== undefined && { output: fromCheck((value) => value, schemas.output) }),
    ...(redact !== undefined && { redact }),
    run: (given, context) => new IsolatedRun({ input: given, context, slots, openThread, loadTimeoutMs }),
  }
}

async function describe(thread: IsolatedThread, module: string, loadTimeoutMs: number): Promise<ModuleDescription> {
  const late = setTimeout(
    () => void thread.terminate(new Error(`the module did not load within ${loadTimeoutMs} ms (loadTimeoutMs)`)),
    loadTimeoutMs,
  )
  try {
    return await thread.run.thread.call('describe')
  } catch (cause) {
    throw new HoldfastError('invalid_request', `${module} cannot be isolated: ${messageOf(cause)}`, { cause })
  } finally {
    clearTimeout(late)
    await thread.terminate(new Error('the component is described'))
  }
}
