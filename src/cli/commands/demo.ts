/** `holdfast demo`: serves ready-made components. */
import { HoldfastError } from '../../core/model/errors.ts'
import { configOptions } from '../../server/config/config-options.ts'
import { readConfig } from '../../server/config/config.ts'
import { loadStore } from '../../server/store/open-store.ts'
import type { Command } from '../command.ts'
import type { ProtocolUrls } from '../serving/host.ts'
import type { CommandIo } from '../io.ts'
import { lazyLogger } from '../logging/lazy-logger.ts'

const about = `Serves ready-made components: the agents storyteller and clerk (which has a tool that needs approval), the team
newsroom, the workflow publish, and with --lab the lab agent (docs/lab.md). They need no key and no network. Set
OPENAI_API_KEY, ANTHROPIC_API_KEY or --model-url to use a real model.`

export const demo: Command = {
  operands: [],
  about,
  examples: [
    { command: 'holdfast demo', description: 'then, in another terminal:  holdfast run storyteller "the sea"' },
    { command: 'holdfast demo --lab --supervise', description: 'with the lab agent; restarted when killed' },
    { command: 'holdfast demo --lab --store memory:', description: 'with the lab agents, in memory only' },
  ],
  options: configOptions,
  run: serveDemo,
}

async function serveDemo(argv: readonly string[], io: CommandIo): Promise<number> {
  const config = readConfig(argv, io.env)
  if (config.positionals.length > 0) {
    throw new HoldfastError('invalid_request', `demo takes no file; holdfast serve ${config.positionals[0]} serves one`)
  }
  if (config.supervise) return (await import('../serving/supervise.ts')).supervise('demo', argv, config, io)
  // First, so that the store's thread starts while this one loads the rest. Errors surface where it is awaited.
  const open = await loadStore(config.store, lazyLogger(config.logLevel))
  const store = open()
  store.catch(() => {})
  const { demoModel } = await import('../demo/model.ts')
  const model = demoModel(config.model, io.env)
  const { hostServer } = await import('../serving/host.ts')
  const { demoComponents } = await import('../demo/components.ts')
  const lab = config.lab ? (await import('../../agents/lab/kinds.ts')).labComponents() : []
  const components = [...demoComponents(model), ...lab]
  return hostServer(config, components, io, (urls) => nextSteps(urls, model.description), store)
}

function nextSteps({ native, console }: ProtocolUrls, model: string): string {
  return [
    `Model: ${model}\n`,
    ...(console === undefined ? [] : [`Console: ${console}\n`]),
    ...(native === undefined ? [] : [whatToTry(native)]),
  ].join('\n')
}

function whatToTry(url: string): string {
  return `Start a story and follow it:
  curl -N ${url}/runs -H 'accept: text/event-stream' --json '{"component":"storyteller","input":"Tell me a story about a brave knight"}'

Interrupt it with Ctrl-C, or kill this server with kill -9 and start it again. Then resume from the last id that you saw:
  curl -N ${url}/runs/RUN_ID/events -H 'last-event-id: LAST_ID'
`
}
