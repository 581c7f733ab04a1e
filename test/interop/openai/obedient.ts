/** A model that calls the tool in its request, and responds in the format that the request describes. */
import { modelAgent } from '../../../src/agents/model/agent.ts'
import { scriptedModel } from '../../../src/agents/model/scripted/scripted.ts'
import type { Component } from '../../../src/core/ports/component.ts'
import { instanceOf } from '../../support/schema-instance.ts'

export const obedient: Component = modelAgent({
  id: 'obedient',
  model: scriptedModel({
    script: ({ tools, toolSchemas, results, format, text }) => {
      const [name] = tools
      if (name !== undefined && results.length === 0)
        return [{ type: 'tool', name, input: instanceOf(toolSchemas.get(name), text) }]
      return format?.type === 'json' ? JSON.stringify(instanceOf(format.schema, text)) : `You said: ${text}`
    },
  }),
})
