/** `holdfast serve FILE`: serves the components that a module exports. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Component } from '../../core/agent.ts'
import { HoldfastError, messageOf } from '../../core/errors.ts'
import { configOptions, readConfig } from '../../server/config.ts'
import { helpText } from '../../server/options.ts'
import { hostServer } from '../host.ts'
import type { CommandIo } from '../io.ts'
import { labComponents } from '../../agents/lab/kinds.ts'

const usage = `Usage: holdfast serve FILE [options]

FILE is a JavaScript or TypeScript module. Each component that it exports is served, and so is each one in an exported array.

Options:
${helpText(configOptions)}`

export async function serve(argv: readonly string[], io: CommandIo): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    io.stdout.write(usage)
    return 0
  }
  const config = readConfig(argv, io.env)
  const [file, ...others] = config.positionals
  if (file === undefined || others.length > 0)
    throw new HoldfastError('invalid_request', `give one file to serve\n\n${usage}`)
  const components = [...(await loadComponents(file)), ...(config.lab ? labComponents() : [])]
  const [first] = components
  return hostServer(config, components, io, (url) => {
    return `Serving ${components.map(({ id }) => id).join(', ')}\n\nTry:\n  curl -N ${url}/runs -H 'accept: text/event-stream' --json '{"component":"${first!.id}","input":"hello"}'\n`
  })
}

async function loadComponents(file: string): Promise<Component[]> {
  let module: Record<string, unknown>
  try {
    module = (await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>
  } catch (cause) {
    throw new HoldfastError('invalid_request', `${file} cannot be loaded: ${messageOf(cause)}`, { cause })
  }
  const found = new Set(Object.values(module).flat().filter(isComponent))
  if (found.size === 0)
    throw new HoldfastError('invalid_request', `${file} exports no component; export what agent({ id, run }) returns`)
  return [...found]
}

function isComponent(value: unknown): value is Component {
  const candidate = value as Partial<Component> | null | undefined
  return typeof candidate?.id === 'string' && typeof candidate.kind === 'string' && typeof candidate.run === 'function'
}
