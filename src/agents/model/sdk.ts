/** Loads the AI SDK on first use: a server without model agents does not need the package. */
import { optionalPackage } from '../../core/runtime/optional-package.ts'

export type Sdk = typeof import('ai')

let loaded: Promise<Sdk> | undefined

export function loadSdk(): Promise<Sdk> {
  loaded ??= optionalPackage(
    'a component with a model',
    'ai',
    () => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ 'ai'),
  )
  loaded.catch(() => (loaded = undefined)) // it may be installed before the next run
  return loaded
}
