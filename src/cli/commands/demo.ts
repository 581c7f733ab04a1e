/** `holdfast demo`: ready-made components, and what to try with them. */
import { HoldfastError } from '../../core/errors.ts'
import { configOptions, readConfig } from '../../server/config.ts'
import { openStore } from '../../server/open-store.ts'
import { helpText } from '../../server/options.ts'
import { demoComponents } from '../demo/components.ts'
import { demoModel } from '../demo/model.ts'
import type { CommandIo } from '../io.ts'

const usage = `Usage: holdfast demo [options]

Serves ready-made components: the agent storyteller, the agent clerk (tools, and one that needs approval), the team newsroom,
the workflow publish, and with --lab the lab (docs/lab.md). They need no key and no network. With OPENAI_API_KEY,
ANTHROPIC_API_KEY or --model-url they ask a real model.

Options:
${helpText(configOptions)}`

export async function demo(argv: readonly string[], io: CommandIo): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    io.stdout.write(usage)
    return 0
  }
  const config = readConfig(argv, io.env)
  if (config.positionals.length > 0) {
    throw new HoldfastError('invalid_request', `demo takes no file; holdfast serve ${config.positionals[0]} serves one`)
  }
  const model = demoModel(config.model, io.env)
  // Its thread starts while this one loads the rest. Whoever awaits it is told what is wrong with it.
  const store = openStore(config.store)
  store.catch(() => {})
  const { hostServer } = await import('../host.ts')
  const lab = config.lab ? (await import('../../agents/lab/kinds.ts')).labComponents() : []
  const components = [...demoComponents(model), ...lab]
  return hostServer(config, components, io, (url) => nextSteps(url, model.description), store)
}

function nextSteps(url: string, model: string): string {
  return `It runs on ${model}

Start a story and watch it:
  curl -N ${url}/runs -H 'accept: text/event-stream' --json '{"component":"storyteller","input":"Tell me a story about a brave knight"}'

Cut it with Ctrl-C, or kill this server with kill -9 and start it again. Then go on from the last id that you saw:
  curl -N ${url}/runs/RUN_ID/events -H 'last-event-id: LAST_ID'
`
}
