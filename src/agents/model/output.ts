/** Structured output of a model agent: parses and validates the response. */
import { WorkError } from '../../core/ports/component.ts'
import type { SchemaIssue } from '../../core/ports/schema.ts'
import { messageOf } from '../../core/model/errors.ts'
import { isStandardSchema, issuesText, validate } from '../../core/schema/validate.ts'
import type { LoopOptions } from './loop.ts'
import type { ModelTurn } from './request.ts'

type OutputOptions = Pick<LoopOptions, 'sdk' | 'output'>

/** The text, or its value parsed by the schema. */
export async function outputOf(options: OutputOptions, turn: ModelTurn): Promise<unknown> {
  if (options.output === undefined) return turn.text
  let parsed: unknown
  try {
    parsed = JSON.parse(turn.text)
  } catch (thrown) {
    throw mismatch(turn, [{ path: '', message: messageOf(thrown) }])
  }
  return checkOutput(options, parsed, turn)
}

export async function checkOutput({ sdk, output }: OutputOptions, value: unknown, turn: ModelTurn): Promise<unknown> {
  if (output === undefined) return value
  if (isStandardSchema(output)) {
    const { issues, value: parsed } = await validate(output, value)
    if (issues === undefined) return parsed
    throw mismatch(turn, issues)
  }
  const result = await sdk.asSchema(output).validate?.(value)
  if (result === undefined) return value
  if (result.success) return result.value
  throw mismatch(turn, [{ path: '', message: messageOf(result.error) }])
}

function mismatch({ finish, text }: ModelTurn, issues: readonly SchemaIssue[]): WorkError {
  return new WorkError({
    code: 'invalid_output',
    message: `the model's response does not match the output schema: ${issuesText(issues)}`,
    details: { issues, finish, text: text.slice(0, MISMATCH_CHARS_MAX) },
  })
}

/** Maximum excerpt of a response that does not match. */
const MISMATCH_CHARS_MAX = 2000
