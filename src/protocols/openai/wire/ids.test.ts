import { describe, expect, test } from 'vitest'
import {
  parseCallId,
  parseResponseId,
  toCallId,
  toCompletionId,
  toConversationId,
  toItemId,
  toResponseId,
  toSession,
} from './ids.ts'

const run = 'run_01m7grapdgaqg06rzz52jjawxc'

describe('OpenAI ids decode to what they encode:', () => {
  test.each([0, 1, 12])('an id of part %i of a run decodes to that part', (number) => {
    const part = { run, number }
    expect(parseResponseId(toResponseId(part))).toEqual(part)
    expect(parseResponseId(toCompletionId(part))).toEqual(part)
  })

  test.each(['call_1_1', 'toolu_01', 'with spaces_and_more', '1.1~/question'])(
    'an id of the call %s decodes to that call',
    (call) => {
      expect(parseCallId(toCallId(run, call))).toEqual({ run, call })
    },
  )

  test.each(['ses_01m7grapdgaqg06rzz52jjawxd', 'ours', 'a/b c'])(
    'an id of the session %s decodes to that session',
    (session) => {
      expect(toSession(toConversationId(session))).toBe(session)
    },
  )
})

test('OpenAI ids: every item of a run has a unique id', () => {
  const parts = [0, 1, 2].map((number) => ({ run, number }))
  const ids = parts.flatMap((part) => [0, 1, 2, 10].map((number) => toItemId('msg', part, number)))
  expect(new Set(ids).size).toBe(ids.length)
})

test.each(['', 'resp_', 'resp', 'msg_01', 'resp_a b', 'resp_01_x', '../resp_01', 'chatcmpl_01', 'resp_01_1234567'])(
  'OpenAI ids: %j is not the id of a response',
  (id) => {
    expect(parseResponseId(id)).toBeUndefined()
  },
)
