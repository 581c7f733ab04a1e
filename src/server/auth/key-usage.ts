/** When keys were last used, in a file beside theirs: for people who look for keys that nobody needs. Nothing depends on it. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises'

/** By the id of a key, in milliseconds since 1970. */
export type KeyUsage = ReadonlyMap<string, number>

/** How long a use may be known to this process alone. */
const WRITE_AFTER_MS = 10_000

function usagePath(keysPath: string): string {
  return `${keysPath}.used`
}

/** Empty where there is no sound file. */
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

  /** Costs a request nothing but an entry in a map, of which there are no more than keys. */
  note(id: string, now: number): void {
    this.#used.set(id, now)
    this.#timer ??= setTimeout(() => void this.write(), WRITE_AFTER_MS).unref()
  }

  /** Several servers may use one file: the latest use wins. Where it cannot be written, uses are not recorded. */
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
