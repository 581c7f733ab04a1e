/** Loads the driver on first use: other stores do not need the package. */
import { optionalPackage } from '../../core/runtime/optional-package.ts'

type Pg = typeof import('pg')

export function loadPg(): Promise<Pg> {
  return optionalPackage(
    'the PostgreSQL store',
    'pg',
    () => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ 'pg'),
  )
}
