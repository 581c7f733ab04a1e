/** Components for the tests of this protocol besides the lab: agents on scripted models, and one with a short timeout. */
import type { Component } from '../../../src/core/ports/component.ts'
import { labAgent } from '../../../src/agents/lab/agent.ts'
import { modelAgent } from '../../../src/agents/model/agent.ts'
import { scriptedModel } from '../../../src/agents/model/scripted/scripted.ts'
import { team } from '../../../src/agents/team/team.ts'

/** Calls the caller's tool `weather` for each city in the question, and then repeats the results. */
const forecasting = scriptedModel({
  script: ({ text, tools, results, instructions, format, prompt }) => {
    if (text === 'instructions') return `told: ${instructions}`
    if (text === 'tools') return `tools: ${tools.join(', ')}`
    if (text === 'format') return JSON.stringify({ format: format?.type })
    if (text === 'prompt') return JSON.stringify(prompt)
    if (results.length > 0) return results.map(({ output }) => `It is ${String(output)}.`).join(' ')
    const cities = text.split(' and ')
    return ['Looking it up. ', ...cities.map((city) => ({ type: 'tool' as const, name: 'weather', input: { city } }))]
  },
})

export const forecaster: Component = modelAgent({ id: 'forecaster', model: forecasting })

/** The same as a team that never calls its members. */
export const forecasters: Component = team({ id: 'forecasters', model: forecasting, members: [labAgent()] })

export const hurried: Component = { ...labAgent({ id: 'lab-hurried' }), limits: { runTimeoutMs: 300 } }
