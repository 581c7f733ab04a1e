/** `holdfast answer`: answers the question of a paused run. */
import type { Answers, RunInfo } from '../../client/index.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { toSwitch, toText } from '../../server/config/option-values.ts'
import { loadComponents } from '../loading/load-components.ts'
import { defineCommand } from '../command.ts'
import { DONE } from '../exit-codes.ts'
import { followRun } from '../display/follow.ts'
import { argumentValue, VALUE_RULE, valueOptions } from '../argument-value.ts'
import { targetOptions } from '../target/target.ts'
import { withTarget } from '../target/with-target.ts'

export const answer = defineCommand({
  operands: ['RUN', 'ANSWER'],
  about: `Answers the question of a paused run, which then continues. holdfast show RUN shows the question. Answer an approval
with true or false. If the run asks several questions, pass all answers as one JSON object by question id.

${VALUE_RULE}`,
  examples: [
    { command: 'holdfast answer run_01k… true', description: 'approve' },
    { command: 'holdfast answer run_01k… "the blue one" --follow', description: 'answer, and follow the run' },
  ],
  options: {
    ...targetOptions,
    follow: { fallback: 'false', parse: toSwitch, help: 'Follow the run after the answer.' },
    json: { fallback: 'false', parse: toSwitch, help: 'Follow the run and print one JSON object per event.' },
    file: {
      value: 'FILE',
      parse: toText,
      help: 'If no server is running, execute the run in this process with the components of this module, and follow it.',
    },
    ...valueOptions,
  },
  async run({ values, operands }, io) {
    const [id, answerText] = operands as [string, string]
    const value = await argumentValue(answerText, values.text)
    const components = values.file === undefined ? undefined : await loadComponents(values.file)
    return withTarget(
      values,
      io.env,
      async (target) => {
        if (target.local && components === undefined) {
          throw new Error(
            'no server is running: start one with  holdfast serve FILE,  select one with --url, or resume the run here with --file FILE',
          )
        }
        const handle = target.client.runs.open(id)
        const before = await handle.get()
        await handle.answer(answersTo(before, value))
        if (values.follow || values.json || target.local)
          return followRun(handle, target, io, { json: values.json, after: before.events - 1, secondInterrupt: 'stop' })
        io.stdout.write(`${id} continues\n`)
        return DONE
      },
      components === undefined ? {} : { components },
    )
  },
})

function answersTo({ waiting = [], id }: RunInfo, value: unknown): Answers {
  if (waiting.length < 2) return { answer: value }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { answers: { ...value } }
  const openQuestions = waiting.map((question) => `${question.id} (${question.prompt})`).join(', ')
  throw new HoldfastError(
    'invalid_request',
    `${id} asks several questions: pass a JSON object with one answer per question id: ${openQuestions}`,
  )
}
