/** The components that a module exports. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Component } from '../core/agent.ts'
import { HoldfastError, messageOf } from '../core/errors.ts'

export async function loadComponents(file: string): Promise<Component[]> {
  let module: Record<string, unknown>
  try {
    module = (await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>
  } catch (cause) {
    throw new HoldfastError('invalid_request', `${file} cannot be loaded: ${messageOf(cause)}`, { cause })
  }
  const found = new Set(Object.values(module).flat().filter(isComponent))
  if (found.size === 0)
    throw new HoldfastError('invalid_request', `${file} exports no component; export what agent({ id, run }) returns`)
  return [...found]
}

function isComponent(value: unknown): value is Component {
  const candidate = value as Partial<Component> | null | undefined
  return typeof candidate?.id === 'string' && typeof candidate.kind === 'string' && typeof candidate.run === 'function'
}
