/** Questions with a schema: the log and the person who answers have its JSON Schema, the agent gets what the schema returns. */
import type { AskOptions } from '../ports/component.ts'
import type { ValueSchema } from '../ports/schema.ts'
import { jsonSchemaOf } from '../schema/json-schema.ts'
import { isDescribed, isStandardSchema, issuesText, validate } from '../schema/validate.ts'
import { RunFailure } from './run-failure.ts'

/** How often a question is asked until an answer fits. */
const ROUNDS_MAX = 10

/**
 * Answers that do not fit the JSON Schema are refused when they are sent. What only the schema's own code can tell is found here:
 * then the question is asked again, with what is wrong.
 */
export async function askTyped(
  question: string | AskOptions,
  ask: (question: AskOptions) => Promise<unknown>,
): Promise<unknown> {
  const options = typeof question === 'string' ? { prompt: question } : question
  const { schema } = options
  if (!isValueSchema(schema)) return ask(options)
  const plain = { ...options, schema: jsonSchemaOf(schema, 'input') }
  let { prompt } = options
  for (let round = 1; ; round++) {
    const { issues, value } = await validate(schema, await ask({ ...plain, prompt }))
    if (issues === undefined) return value
    const problem = `The answer did not fit: ${issuesText(issues)}`
    if (round === ROUNDS_MAX)
      throw new RunFailure('invalid_answer', `${ROUNDS_MAX} answers to a question did not fit. ${problem}`, { issues })
    prompt = `${options.prompt}\n\n${problem}`
  }
}

function isValueSchema(schema: unknown): schema is ValueSchema {
  return isStandardSchema(schema) || isDescribed(schema)
}
