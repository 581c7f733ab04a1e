/** Loads a user's modules anew when one of them is changed, in the process that they run in. */
import { type FSWatcher, watch } from 'node:fs'
import { registerHooks } from 'node:module'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Editors write a file in several goes. */
const SETTLE_MS = 60
const GENERATION = 'holdfast-generation'

/** What is part of this package is loaded once, also when it runs from its sources. */
const OWN = new URL('..', import.meta.url).href

export class ModuleReloader {
  readonly #files = new Set<string>()
  readonly #watchers = new Map<string, FSWatcher>()
  #generation = 0
  #timer: NodeJS.Timeout | undefined
  #reload: (() => Promise<void>) | undefined
  #reloading: Promise<void> | undefined

  /** From here on modules are told apart by generation: the same file is another module in the next. */
  constructor() {
    registerHooks({
      resolve: (specifier, context, next) => {
        const found = next(specifier, context)
        // CommonJS modules are kept by file and not by address: Node does not load them anew.
        const isModule = context.conditions.includes('import') && found.format?.startsWith('commonjs') !== true
        if (!isModule || !isOfUser(found.url)) return found
        this.#files.add(fileURLToPath(found.url))
        return { ...found, url: `${found.url}?${GENERATION}=${this.#generation}` }
      },
    })
  }

  /** Calls `reload` whenever one of the files has changed; what it imports then is new. */
  watch(reload: () => Promise<void>): void {
    this.#reload = reload
    this.#watchFolders()
  }

  /** Folders and not files: an editor may put a new file in the place of the old one. */
  #watchFolders(): void {
    for (const folder of new Set([...this.#files].map((file) => dirname(file)))) {
      if (this.#watchers.has(folder)) continue
      const watcher = watch(folder, (_kind, name) => this.#changed(folder, name))
      watcher.on('error', () => watcher.close()) // the folder is gone
      watcher.unref()
      this.#watchers.set(folder, watcher)
    }
  }

  #changed(folder: string, name: string | null): void {
    const isOurs = [...this.#files].some(
      (file) => dirname(file) === folder && (name === null || basename(file) === name),
    )
    if (!isOurs) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#next(), SETTLE_MS)
  }

  /** One after the other: a change while one is loaded is another one. */
  #next(): void {
    this.#reloading = (this.#reloading ?? Promise.resolve()).then(async () => {
      this.#generation++
      this.#files.clear()
      await this.#reload!()
      this.#watchFolders()
    })
  }
}

function isOfUser(url: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(OWN) && !url.includes('?')
}
