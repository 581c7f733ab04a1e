/** Builds the console into a folder: `node scripts/build-console.ts [FOLDER]`. Default: dist/console. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { build } from 'vite'
import { root } from './command.ts'

const target = resolve(process.argv[2] ?? join(root, 'dist', 'console'))
mkdirSync(dirname(target), { recursive: true })
// Built next to the target and then moved, so that readers see either the old page or the new one.
const made = mkdtempSync(`${target}-`)

try {
  await build({
    configFile: false,
    root: join(root, 'console'),
    base: '/console/',
    mode: 'production',
    logLevel: 'warn',
    define: { 'process.env.NODE_ENV': '"production"' },
    oxc: { jsx: { runtime: 'automatic', development: false } },
    resolve: {
      alias: {
        'holdfast/client': join(root, 'src/client/index.ts'),
        'holdfast/react': join(root, 'src/react/index.ts'),
        'holdfast/structure': join(root, 'src/core/structure/index.ts'),
      },
    },
    build: {
      outDir: made,
      emptyOutDir: true,
      target: 'es2022',
      // The page needs CSS `light-dark()`.
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      // No inlined assets: the page's CSP forbids them.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      chunkSizeWarningLimit: 800,
    },
  })
  chmodSync(made, 0o755)
  replaceBy(made)
} finally {
  rmSync(made, { recursive: true, force: true })
}

/** If a concurrent build was faster, its result stays: others may be reading a folder that was given. */
function replaceBy(folder: string): void {
  const old = `${folder}-old`
  try {
    if (process.argv[2] === undefined && existsSync(target)) renameSync(target, old)
    renameSync(folder, target)
  } catch (cause) {
    if (!existsSync(join(target, 'index.html'))) throw cause
  } finally {
    rmSync(old, { recursive: true, force: true })
  }
}
