/** `holdfast dev FILE`: serves, and takes up every change while runs go on. */
import { messageOf } from '../../core/model/errors.ts'
import { configOptions } from '../../server/config-options.ts'
import { readConfig } from '../../server/config.ts'
import type { Server } from '../../server/create-server.ts'
import type { Command } from '../command.ts'
import { loadComponents } from '../load-components.ts'
import { hostServer } from '../host.ts'
import type { CommandIo } from '../io.ts'
import { ModuleReloader } from '../module-reloader.ts'
import { supervise } from '../supervise.ts'
import { styleOf } from '../terminal/style.ts'
import { fileOf, labIn, whatToTry } from './serve.ts'

export const dev: Command = {
  operands: ['FILE'],
  about: `Serves a module as holdfast serve does, and loads it again whenever it, or a module of yours that it imports, is changed. Nothing is
restarted: runs that are under way go on with the code that they began with, open connections stay open, and runs that are started
from then on have the new code. A change that does not load is told, and what was served before is served on.

What a module holds open besides its exports (timers, servers) stays open when it is loaded again. CommonJS modules and packages in
node_modules are not loaded again: restart for these. Pages of localhost may use the server, at any port.
For anything but development, use holdfast serve.`,
  examples: [{ line: 'holdfast dev agents.ts', does: 'edit agents.ts and start another run' }],
  options: configOptions,
  async run(argv, io) {
    const config = readConfig(argv, io.env)
    if (config.supervise) return supervise('dev', argv, config, io)
    const file = fileOf(config, 'dev')
    const reloader = new ModuleReloader()
    const load = async (): ReturnType<typeof loadComponents> => [...(await loadComponents(file)), ...labIn(config)]
    const components = await load()
    return hostServer({ ...config, corsLoopback: true }, components, io, (url, server) => {
      reloader.watch(() => reload(server, load, io))
      return `${whatToTry(url, components)}\nChanges are taken up while runs go on.\n`
    })
  },
}

async function reload(server: Server, load: () => ReturnType<typeof loadComponents>, io: CommandIo): Promise<void> {
  const style = styleOf(io.stdout, io.env)
  const since = performance.now()
  try {
    const components = await load()
    server.replaceComponents(components)
    const took = Math.round(performance.now() - since)
    io.stdout.write(`${style.green('✓')} reloaded in ${took} ms: ${components.map(({ id }) => id).join(', ')}\n`)
  } catch (cause) {
    io.stdout.write(`${style.red('✗')} not reloaded: ${messageOf(cause)}\n  What was served before is served on.\n`)
  }
}
