/** Reloads a user's modules in place when one of them changes. */
import { type FSWatcher, watch } from 'node:fs'
import { registerHooks } from 'node:module'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ownCode } from '../own-code.ts'

/** Debounce time: editors write a file in several steps. */
const SETTLE_MS = 60
const GENERATION = 'holdfast-generation'

/** This package's own modules are never reloaded, even when it runs from source. */
const OWN = ownCode.href

export class ModuleReloader {
  readonly #files = new Set<string>()
  readonly #watchers = new Map<string, FSWatcher>()
  #generation = 0
  #timer: NodeJS.Timeout | undefined
  #reload: (() => Promise<void>) | undefined
  #reloading: Promise<void> | undefined

  /** Registers a hook that adds a generation to module URLs, so that a reload creates new modules. */
  constructor() {
    registerHooks({
      resolve: (specifier, context, next) => {
        const found = next(specifier, context)
        // Node caches CommonJS modules by file rather than URL, so they cannot be reloaded.
        const isModule = context.conditions.includes('import') && found.format?.startsWith('commonjs') !== true
        if (!isModule || !isOfUser(found.url)) return found
        this.#files.add(fileURLToPath(found.url))
        return { ...found, url: `${found.url}?${GENERATION}=${this.#generation}` }
      },
    })
  }

  /** Calls `reload` after each change of a file; its imports then load new modules. */
  watch(reload: () => Promise<void>): void {
    this.#reload = reload
    this.#watchFolders()
  }

  /** Watches folders rather than files, because editors may replace a file. */
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

  /** Serializes reloads. A change during a reload triggers another one. */
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
