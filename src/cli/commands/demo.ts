/** `holdfast demo`: ready-made components, and what to try with them. */
import { labComponents } from '../../agents/lab/kinds.ts'
import { HoldfastError } from '../../core/errors.ts'
import { configOptions, readConfig } from '../../server/config.ts'
import { helpText } from '../../server/options.ts'
import { demoComponents } from '../demo/components.ts'
import { hostServer } from '../host.ts'
import type { CommandIo } from '../io.ts'

const usage = `Usage: holdfast demo [options]

Serves ready-made components, none of which needs a key or a network: the agent storyteller, the agent clerk (tools, and one
that needs approval), the team newsroom, the workflow publish, and with --lab the lab (docs/lab.md).

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
  return hostServer(config, [...demoComponents(), ...(config.lab ? labComponents() : [])], io, nextSteps)
}

function nextSteps(url: string): string {
  return `
Start a story and watch it:
  curl -N ${url}/runs -H 'accept: text/event-stream' --json '{"component":"storyteller","input":"Tell me a story about a brave knight"}'

Cut it with Ctrl-C, or kill this server with kill -9 and start it again. Then go on from the last id that you saw:
  curl -N ${url}/runs/RUN_ID/events -H 'last-event-id: LAST_ID'
`
}
