/** `holdfast dev FILE`: serves a module and reloads it on changes, while runs continue. */
import { messageOf } from '../../core/model/errors.ts'
import { configOptions } from '../../server/config/config-options.ts'
import { readConfig } from '../../server/config/config.ts'
import type { Server } from '../../server/create-server.ts'
import type { Command } from '../command.ts'
import { loadComponents } from '../loading/load-components.ts'
import { hostServer } from '../serving/host.ts'
import type { CommandIo } from '../io.ts'
import { acceptModuleSyntax } from '../../agents/shared/module-syntax.ts'
import { ModuleReloader } from '../loading/module-reloader.ts'
import { supervise } from '../serving/supervise.ts'
import { styleOf } from '../terminal/style.ts'
import { fileOf, labIn, whatToTry } from './serve.ts'

export const dev: Command = {
  operands: ['FILE'],
  about: `Serves a module like holdfast serve, and reloads it when it changes, or when one of your modules that it imports does.
Running runs keep the code that they started with, connections stay open, and new runs use the new code. If a change
does not load, the error is shown and the previous code stays in use.

Environment variables are read from .env, or from the files that --env-file names; restart after a change of those.

Timers, servers and other handles that a module opened stay open after a reload. CommonJS modules and packages in
node_modules are not reloaded: restart for those. Browser pages of localhost may use the server at any port. For
production, use holdfast serve.`,
  examples: [
    { command: 'holdfast dev agents.ts', description: 'edit agents.ts and start another run' },
    { command: 'holdfast dev agents.ts --env-file .env.local', description: 'with the keys of another file than .env' },
  ],
  options: configOptions,
  async run(argv, io) {
    const config = readConfig(argv, io.env)
    if (config.supervise) return supervise('dev', argv, config, io)
    const file = fileOf(config, 'dev')
    acceptModuleSyntax() // before the reloader, which leaves CommonJS alone
    const reloader = new ModuleReloader()
    const load = async (): ReturnType<typeof loadComponents> => [
      ...(await loadComponents(file)),
      ...(await labIn(config)),
    ]
    const components = await load()
    return hostServer({ ...config, corsLoopback: true }, components, io, (urls, server) => {
      reloader.watch(() => reload(server, load, io))
      return `${whatToTry(urls, components)}\nChanges are reloaded while runs continue.\n`
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
    io.stdout.write(`${style.red('✗')} not reloaded: ${messageOf(cause)}\n  The previous version stays in use.\n`)
  }
}
