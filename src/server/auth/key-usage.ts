/** Last-used times of API keys, in a file next to the key file. Informational only: helps to find unused keys. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises'

/** Milliseconds since 1970, by key id. */
export type KeyUsage = ReadonlyMap<string, number>

/** Maximum delay until a use is written. */
const WRITE_AFTER_MS = 10_000

function usagePath(keysPath: string): string {
  return `${keysPath}.used`
}

/** Empty if the file is missing or malformed. */
export async function readKeyUsage(keysPath: string): Promise<KeyUsage> {
  try {
    const used = JSON.parse(await readFile(usagePath(keysPath), 'utf8')) as Record<string, unknown>
    return new Map(Object.entries(used).filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1])))
  } catch {
    return new Map()
  }
}

export class KeyUsageRecorder {
  readonly #keysPath: string
  readonly #used = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(keysPath: string) {
    this.#keysPath = keysPath
  }

  /** One map entry per key; written later. */
  note(id: string, now: number): void {
    this.#used.set(id, now)
    this.#timer ??= setTimeout(() => void this.write(), WRITE_AFTER_MS).unref()
  }

  /** Merges with other servers' writes: the latest use wins. Failures are ignored. */
  async write(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const path = usagePath(this.#keysPath)
    const temporary = `${path}.${process.pid}.tmp`
    try {
      const known = new Map(await readKeyUsage(this.#keysPath))
      for (const [id, time] of this.#used) known.set(id, Math.max(time, known.get(id) ?? 0))
      await writeFile(temporary, `${JSON.stringify(Object.fromEntries(known))}\n`, { mode: 0o600 })
      await rename(temporary, path)
    } catch {
      await rm(temporary, { force: true }).catch(() => {}) // the next write replaces it
    }
  }
}
