/** Finds the component that a request names. */
import { HoldfastError } from '../../core/model/errors.ts'
import type { Component } from '../../core/ports/component.ts'
import type { Service } from '../../core/service.ts'
import type { Call } from '../routing/route.ts'

/** By id. Default: the only one. */
export function findComponent(service: Service, id: string | undefined): Component {
  const all = service.components()
  const found = id === undefined ? all[0] : all.find((component) => component.id === id)
  if (id === undefined && all.length !== 1)
    throw new HoldfastError('invalid_request', 'the server has several components: select one with ?component=ID')
  if (found !== undefined) return found
  service.noteUnknown()
  throw new HoldfastError('not_found', `component ${JSON.stringify(id?.slice(0, 200))} not found`)
}

/** The component id of the path, or of the query for a protocol on a path without a parameter. */
export function componentIn({ params, query }: Pick<Call, 'params' | 'query'>): string | undefined {
  return params['component'] ?? query.get('component') ?? undefined
}
