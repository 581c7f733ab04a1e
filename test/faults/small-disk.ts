/** A separate file system that can be filled and emptied. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export class SmallDisk {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Requires root and permission to mount. */
  static canMount(): boolean {
    try {
      SmallDisk.mount(1).unmount()
      return true
    } catch {
      return false
    }
  }

  static mount(mebibytes: number): SmallDisk {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-disk-'))
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=1777`, 'tmpfs', folder], { stdio: 'pipe' })
      return new SmallDisk(folder)
    } catch (cause) {
      rmdirSync(folder)
      throw cause
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
    // Lazy unmount: a just killed process may still hold a file.
    execFileSync('umount', ['-l', this.folder], { stdio: 'pipe' })
    rmdirSync(this.folder)
  }

  get #filler(): string {
    return join(this.folder, 'filler')
  }
}
