/** Questions with a schema. The log and the person who answers get the JSON Schema; the agent gets what the schema returns. */
import type { AskOptions } from '../ports/component.ts'
import type { ValueSchema } from '../ports/schema.ts'
import { jsonSchemaOf } from '../schema/json-schema.ts'
import { isDescribed, isStandardSchema, issuesText, validate } from '../schema/validate.ts'
import { RunFailure } from './run-failure.ts'

/** Maximum times a question is asked until an answer matches. */
const ROUNDS_MAX = 10

/**
 * Answers that do not match the JSON Schema are refused when they are sent. Problems that only the schema's own code detects are
 * found here: the question is then asked again, with the problem.
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
      throw new RunFailure(
        'invalid_answer',
        `${ROUNDS_MAX} answers to a question did not match its schema. ${problem}`,
        { issues },
      )
    prompt = `${options.prompt}\n\n${problem}`
  }
}

function isValueSchema(schema: unknown): schema is ValueSchema {
  return isStandardSchema(schema) || isDescribed(schema)
}
