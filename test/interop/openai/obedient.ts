/** A model that does what a suite asks of one: it calls the tool that it is given, and keeps to the format. */
import { modelAgent } from '../../../src/agents/model/agent.ts'
import { scriptedModel } from '../../../src/agents/model/scripted.ts'
import type { Component } from '../../../src/core/ports/component.ts'

/** By the names of the suites' own tools. */
const inputs: Readonly<Record<string, object>> = {
  get_weather: { location: 'San Francisco, CA' },
  compatcanary_echo: { value: 'CANARY_OK' },
}

export const obedient: Component = modelAgent({
  id: 'obedient',
  model: scriptedModel({
    script: ({ tools, results, format }) => {
      const [name] = tools
      if (name !== undefined && results.length === 0) return [{ type: 'tool', name, input: inputs[name] ?? {} }]
      return format?.type === 'json' ? '{"status":"ok"}' : 'CANARY_OK, and hello.'
    },
  }),
})
