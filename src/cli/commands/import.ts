/** `holdfast import`: puts an exported run into a store. */
import { createReadStream } from 'node:fs'
import { ownerKey } from '../../core/model/principal.ts'
import { openStore } from '../../server/open-store.ts'
import { toText } from '../../server/option-values.ts'
import { defineCommand } from '../command.ts'
import { DONE } from '../exit-codes.ts'
import { stderrLogger } from '../stderr-logger.ts'
import { defaultStore, storeText, targetOptions } from '../target.ts'
import { size } from '../terminal/text.ts'
import { readLog } from '../transfer/read-log.ts'
import { writeLog } from '../transfer/write-log.ts'

const FILE_BYTES_MAX = 256 * 1024 * 1024

export const importRun = defineCommand({
  operands: ['[FILE]'],
  about: `Puts a run that holdfast export wrote into a store, under its id, byte for byte: from a file, or from standard input. What is not the
whole log of one finished run is refused, with the line that is wrong, and a run that the store has is never changed; to import it
again does nothing.

It opens the store itself, so no server may be using it. Servers have no such command on purpose: whoever may start runs could else
write whatever outcome they like into a log.`,
  examples: [{ line: 'holdfast import run.ndjson --store sqlite:copy.db', does: 'into a store of its own' }],
  options: {
    store: targetOptions.store,
    principal: { value: 'ID', fallback: 'local', parse: toText, help: 'Whose run it is from now on.' },
    tenant: { value: 'TENANT', parse: toText, help: 'The tenant of that principal.' },
  },
  async run({ values, operands: [file] }, io) {
    const { principal, tenant } = values
    const owner = ownerKey({ id: principal, ...(tenant !== undefined && { tenant }) })
    const log = readLog(await readText(file), owner)
    const config = values.store ?? defaultStore(io.env)
    if (config.kind === 'memory') throw new Error('a store in memory ends with this command: give --store sqlite:PATH')
    const store = await openStore(config, stderrLogger(io))
    try {
      const outcome = await writeLog(store, log)
      const { id, status } = log.run
      const what =
        outcome === 'existing' ? `${id} is there already` : `Imported ${id}: ${log.records.length} events, ${status}`
      io.stdout.write(`${what}\n  holdfast show ${id} --store ${storeText(config)}\n`)
      return DONE
    } finally {
      await store.close()
    }
  },
})

async function readText(file = '-'): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
    chunks.push(chunk as Buffer)
    bytes += (chunk as Buffer).length
    if (bytes > FILE_BYTES_MAX)
      throw new Error(`${file} has more than the ${size(FILE_BYTES_MAX)} that can be imported`)
  }
  return Buffer.concat(chunks).toString()
}
