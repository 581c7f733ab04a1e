/** Rules for the options of model agents and teams. */
import { aFunction, anObject, type OptionRule } from '../../core/model/check-options.ts'

export const aModel: OptionRule = {
  expected: "a model of the AI SDK, such as `openai('gpt-5')`, or its id",
  check: (value) => typeof value === 'string' || anObject.check(value) || aFunction.check(value),
}

export const toolsRule: OptionRule = {
  expected: 'tools by name, a function that returns them, `mcp(…)`, or a list of these',
  check: (value) => typeof value === 'function' || (typeof value === 'object' && value !== null),
}

export const historyRule: OptionRule = {
  expected: 'false, an object of limits, or a function',
  check: (value) => value === false || anObject.check(value) || aFunction.check(value),
}
