/** A file system of its own that can be filled and emptied. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export class SmallDisk {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Undefined where this machine does not let us mount one. */
  static mount(mebibytes: number): SmallDisk | undefined {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-disk-'))
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=1777`, 'tmpfs', folder], { stdio: 'pipe' })
      return new SmallDisk(folder)
    } catch {
      rmdirSync(folder)
      return undefined
    }
  }

  fill(): void {
    const piece = Buffer.alloc(64 * 1024)
    const file = openSync(this.#filler, 'w')
    try {
      for (;;) writeSync(file, piece)
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOSPC') throw cause
    } finally {
      closeSync(file)
    }
  }

  free(): void {
    rmSync(this.#filler, { force: true })
  }

  unmount(): void {
    // Lazily: a process that was just killed may still hold a file.
    execFileSync('umount', ['-l', this.folder], { stdio: 'pipe' })
    rmdirSync(this.folder)
  }

  get #filler(): string {
    return join(this.folder, 'filler')
  }
}
