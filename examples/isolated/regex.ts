/** Runs regular expressions that somebody else wrote. One of them can keep its thread busy for ever. */
import { agent } from 'holdfast'

export const matcher = agent<{ pattern: string; text: string }>({
  id: 'matcher',
  recovery: 'resume',
  limits: { stopGraceMs: 200 },
  async *run({ pattern, text }, { step }) {
    yield `looking for ${pattern}\n`
    return step('match', () => new RegExp(pattern).test(text))
  },
})
