/**
 * Loads files with `import` and `export` as ES modules even if package.json has `"type": "commonjs"`, which `npm init -y` writes.
 * Node detects the syntax only if package.json has no type.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const MODULE_SYNTAX =
  /^(?:import\b\s*[\w{*'"]|export\s+(?:const|let|class|function|async|default|type|interface)\b|export\s*[{*])/m
const COMMONJS_SYNTAX = /\brequire\s*\(|\bmodule\.exports\b|^exports\.\w/m

const asModule: ReadonlyMap<string, string> = new Map([
  ['commonjs', 'module'],
  ['commonjs-typescript', 'module-typescript'],
])

let registered = false

/** Registers the hook. Hooks registered later see the format that it sets. */
export function acceptModuleSyntax(): void {
  if (registered) return
  registered = true
  registerHooks({
    resolve: (specifier, context, next) => {
      const found = next(specifier, context)
      const format = asModule.get(found.format ?? '')
      if (format === undefined || !/^file:(?!.*\/node_modules\/).*\.[jt]s$/.test(found.url)) return found
      return hasModuleSyntax(found.url) ? { ...found, format } : found
    },
  })
}

function hasModuleSyntax(url: string): boolean {
  try {
    const source = readFileSync(fileURLToPath(url), 'utf8')
    return MODULE_SYNTAX.test(source) && !COMMONJS_SYNTAX.test(source)
  } catch {
    return false // Node reports the error when it loads the file.
  }
}
