/** `holdfast serve FILE`: serves the components that a module exports. */
import type { Component } from '../../core/ports/component.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { configOptions } from '../../server/config/config-options.ts'
import { type Config, readConfig } from '../../server/config/config.ts'
import type { Command } from '../command.ts'
import { loadComponents } from '../loading/load-components.ts'
import { hostServer, type ProtocolUrls } from '../serving/host.ts'
import { supervise } from '../serving/supervise.ts'

export const serve: Command = {
  operands: ['FILE'],
  about: `Serves the components that a JavaScript or TypeScript module exports, as values or in arrays. TypeScript runs without a
build.

Ctrl-C or SIGTERM drains the server: running runs may finish within --drain-timeout. The others are recovered by the next
server that opens the store.`,
  examples: [
    { command: 'holdfast serve agents.ts', description: 'local only, runs in .holdfast/holdfast.db' },
    {
      command: 'holdfast serve agents.ts --host 0.0.0.0 --auth-keys .holdfast/keys.json',
      description: 'for other machines, with API keys',
    },
  ],
  options: configOptions,
  async run(argv, io) {
    const config = readConfig(argv, io.env)
    if (config.supervise) return supervise('serve', argv, config, io)
    const components = [...(await loadComponents(fileOf(config, 'serve'))), ...(await labIn(config))]
    return hostServer(config, components, io, (urls) => whatToTry(urls, components))
  },
}

/** The command's only operand. */
export function fileOf({ positionals: [file, ...others] }: Config, command: string): string {
  if (file !== undefined && others.length === 0) return file
  throw new HoldfastError('invalid_request', `expected one file to serve\n\nUsage: holdfast ${command} FILE [options]`)
}

export async function labIn({ lab }: Config): Promise<Component[]> {
  return lab ? (await import('../../agents/lab/kinds.ts')).labComponents() : []
}

export function whatToTry({ native }: ProtocolUrls, components: readonly Component[]): string {
  const [first] = components
  const serving = `Serving ${components.map(({ id }) => id).join(', ')}\n`
  if (native === undefined) return serving
  return `${serving}\nTry:\n  curl -N ${native}/runs -H 'accept: text/event-stream' --json '{"component":"${first!.id}","input":"hello"}'\n`
}
