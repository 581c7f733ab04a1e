/** `holdfast worker FILE`: executes runs without serving HTTP. */
import { HoldfastError } from '../../core/model/errors.ts'
import { Registry } from '../../core/registry.ts'
import { configOptions } from '../../server/config/config-options.ts'
import { readConfig } from '../../server/config/config.ts'
import { createWorker } from '../../server/create-worker.ts'
import { openStore } from '../../server/store/open-store.ts'
import type { OptionTable } from '../../server/config/options.ts'
import type { Command } from '../command.ts'
import { loadComponents } from '../loading/load-components.ts'
import { describeStore, nextSignal } from '../serving/host.ts'
import { lazyLogger } from '../logging/lazy-logger.ts'
import { surviveUncaughtErrors } from '../serving/uncaught-errors.ts'
import { boundYoungGeneration } from '../serving/young-generation.ts'
import { DONE } from '../exit-codes.ts'
import { fileOf, labIn } from './serve.ts'

const options = {
  store: configOptions.store,
  'store-outage': configOptions['store-outage'],
  'env-file': configOptions['env-file'],
  lab: configOptions.lab,
  'log-level': configOptions['log-level'],
  redact: configOptions.redact,
  'max-runs': configOptions['max-runs'],
  'loop-blocked': configOptions['loop-blocked'],
  'drain-timeout': configOptions['drain-timeout'],
} satisfies OptionTable

export const worker: Command = {
  operands: ['FILE'],
  about: `Executes runs of the components that a module exports, without listening on a port. Use it with a store that several
processes share: servers accept requests, workers execute runs. Both can be restarted at any time: another node takes
over. A worker executes only runs of the components in its module, so each component needs a node that serves it.

A sqlite store is for one process. A worker can open it while no server uses it, and executes the runs that are in it.`,
  examples: [{ command: 'holdfast worker agents.ts --max-runs 50', description: 'at most fifty runs at once' }],
  options,
  async run(argv, io) {
    const config = readConfig(argv, io.env)
    const components = [...(await loadComponents(fileOf(config, 'worker'))), ...(await labIn(config))]
    if (config.store.kind === 'memory')
      throw new HoldfastError('invalid_request', 'a memory store has no runs for a worker: use the store of a server')
    const ending = nextSignal()
    boundYoungGeneration()
    const registered = new Registry(components).list() // validate before writing to disk
    const logger = lazyLogger(config.logLevel)
    const opened = await openStore(config.store, logger)
    const endSurvival = surviveUncaughtErrors(logger)
    const { limits, redact } = config
    const running = await createWorker({
      components: registered,
      store: opened,
      limits,
      logger,
      ...(redact !== undefined && { redact }),
    })
    const where = describeStore(config.store)
    io.stdout.write(
      `Holdfast worker on ${where}\nIt is process ${process.pid} and executes ${registered.map(({ id }) => id).join(', ')}\n`,
    )
    if (!opened.capabilities.shared) {
      io.stderr.write(
        `${where} is for one process: while this worker uses it, no server can open it and no run can be started.\nTo use servers and workers together, use a shared store. Without workers, holdfast serve executes the runs itself.\n`,
      )
    }
    const signal = await ending
    io.stderr.write(`${signal}: draining, at most ${limits.drainTimeoutMs ?? 0} ms\n`)
    await running.close()
    endSurvival()
    return DONE
  },
}
