/**
 * Loads the engine from the installed package, even if a bundler has put this module into a bundle: the engine starts threads, reads
 * files that a bundle lacks, and imports packages that may not be installed. All bundles of a process share it.
 */

type EngineModules = typeof import('./engine-modules.ts')

/** Distinguishes copies of the package. Bundlers keep the URL of a module, or replace it with that of the bundle. */
export const codeAddress: string | undefined = import.meta.url

/** The comments keep webpack, Turbopack and Vite from bundling it. */
export async function loadEngine(): Promise<EngineModules> {
  try {
    return await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ './engine-modules.ts')
  } catch (cause) {
    if (!isBundled(cause)) throw cause
    return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ 'holdfast/engine')
  }
}

/** The file does not exist beside a bundle. */
function isBundled(cause: unknown): boolean {
  const { code, message } = cause as { readonly code?: unknown; readonly message?: unknown }
  return code === 'ERR_MODULE_NOT_FOUND' && String(message).includes('engine-modules')
}
