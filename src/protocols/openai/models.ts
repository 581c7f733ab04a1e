/** `GET /v1/models`: components as models. */
import type { Component } from '../../core/ports/component.ts'
import { schemasOf } from '../../core/schema/component-schemas.ts'
import type { Service } from '../../core/service.ts'
import { respondJson } from '../../http/response/respond.ts'
import type { Route } from '../../http/routing/route.ts'
import { findComponent } from './requests/request.ts'

export function modelRoutes(service: Service): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/models',
      handle: (call) =>
        respondJson(call.response, 200, { object: 'list', data: service.components().map((each) => toModel(each)) }),
    },
    {
      method: 'GET',
      path: '/v1/models/{id}',
      handle: (call) => respondJson(call.response, 200, toModel(findComponent(service, call.params['id']!))),
    },
  ]
}

/** Components have no creation date, and the process start time would be misleading. */
const CREATED = 0

/** A model of an upstream keeps its own id, which may contain characters that component ids cannot. */
function toModel(component: Component): object {
  const { id, name, description, upstream } = component
  const { input, output } = schemasOf(component)
  return {
    id: upstream?.id ?? id,
    object: 'model',
    created: CREATED,
    owned_by: 'holdfast',
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(input !== undefined && { input_schema: input }),
    ...(output !== undefined && { output_schema: output }),
  }
}
