/** Loads the simulator and all sources anew, with a defect in one of them. */
import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Defect } from './defects.ts'

type Simulator = Pick<typeof import('./world.ts'), 'simulate'> &
  Pick<typeof import('./plan.ts'), 'planOf' | 'withoutFaults'>

const ROOT = new URL('../../', import.meta.url)

export async function loadWith(defect: Defect): Promise<Simulator> {
  const query = `?defect=${defect.id}`
  const target = new URL(defect.file, ROOT).href + query
  let applied = false
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const isOurs = resolved.url.startsWith(ROOT.href) && !resolved.url.includes('/node_modules/')
      return isOurs && context.parentURL?.endsWith(query) === true
        ? { ...resolved, url: resolved.url + query }
        : resolved
    },
    load(url, context, next) {
      if (!url.endsWith(query)) return next(url, context)
      applied ||= url === target
      const file = url.slice(0, -query.length)
      const source = url === target ? stripped(withDefect(sourceOf(file), defect)) : known(file)
      return { format: 'module', shortCircuit: true, source }
    },
  })
  try {
    const world = (await import(`./world.ts${query}`)) as typeof import('./world.ts')
    const plan = (await import(`./plan.ts${query}`)) as typeof import('./plan.ts')
    if (!applied) throw new Error(`defect ${defect.id}: ${fileURLToPath(new URL(defect.file, ROOT))} is not loaded`)
    return { simulate: world.simulate, planOf: plan.planOf, withoutFaults: plan.withoutFaults }
  } finally {
    hooks.deregister()
  }
}

/** Files without their types: taking these off is most of the time of a load. */
const sources = new Map<string, string>()

function known(file: string): string {
  let source = sources.get(file)
  if (source === undefined) sources.set(file, (source = stripped(sourceOf(file))))
  return source
}

function stripped(source: string): string {
  return stripTypeScriptTypes(source)
}

function sourceOf(file: string): string {
  return readFileSync(new URL(file), 'utf8')
}

export function withDefect(source: string, { id, file, search, replace }: Defect): string {
  const parts = source.split(search)
  if (parts.length !== 2) throw new Error(`defect ${id}: ${file} has its text ${parts.length - 1} times, not once`)
  return parts.join(replace)
}
