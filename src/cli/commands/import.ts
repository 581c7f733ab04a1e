/** `holdfast import`: imports an exported run into a store. */
import { createReadStream } from 'node:fs'
import { ownerKey } from '../../core/model/principal.ts'
import { openStore } from '../../server/store/open-store.ts'
import { toText } from '../../server/config/option-values.ts'
import { defineCommand } from '../command.ts'
import { DONE } from '../exit-codes.ts'
import { stderrLogger } from '../logging/stderr-logger.ts'
import { defaultStore, storeText, targetOptions } from '../target/target.ts'
import { size } from '../terminal/text.ts'
import { readLog } from '../transfer/read-log.ts'
import { writeLog } from '../transfer/write-log.ts'

const FILE_BYTES_MAX = 256 * 1024 * 1024

export const importRun = defineCommand({
  operands: ['[FILE]'],
  about: `Imports a run that holdfast export wrote, from a file or standard input, under its id and byte for byte. Input that is
not the complete log of one finished run is refused with the offending line. An existing run is never changed; importing
it again does nothing.

The command opens the store itself, so no server may be using a sqlite store. Servers have no import endpoint: otherwise
anybody who may start runs could forge logs.`,
  examples: [{ command: 'holdfast import run.ndjson --store sqlite:copy.db', description: 'into another store' }],
  options: {
    store: targetOptions.store,
    principal: { value: 'ID', fallback: 'local', parse: toText, help: 'Principal that owns the imported run.' },
    tenant: { value: 'TENANT', parse: toText, help: 'Tenant of the principal.' },
  },
  async run({ values, operands: [file] }, io) {
    const { principal, tenant } = values
    const owner = ownerKey({ id: principal, ...(tenant !== undefined && { tenant }) })
    const log = readLog(await readText(file), owner)
    const config = values.store ?? defaultStore(io.env)
    if (config.kind === 'memory') throw new Error('a memory store ends with this command: use --store sqlite:PATH')
    const store = await openStore(config, stderrLogger(io))
    try {
      const outcome = await writeLog(store, log)
      const { id, status } = log.run
      const what =
        outcome === 'existing' ? `${id} already exists` : `Imported ${id}: ${log.records.length} events, ${status}`
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
    if (bytes > FILE_BYTES_MAX) throw new Error(`${file} exceeds ${size(FILE_BYTES_MAX)}, the maximum for an import`)
  }
  return Buffer.concat(chunks).toString()
}
