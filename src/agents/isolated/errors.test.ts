import { expect, test } from 'vitest'
import { RejectedError, WorkError } from '../../core/ports/component.ts'
import { RunFailure } from '../../core/execution/run-failure.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { ErrorTransport } from './errors.ts'

/** As the other thread gets it. */
function sent(error: unknown): unknown {
  return new ErrorTransport().unpack(structuredClone(new ErrorTransport().pack(error)))
}

test.each([
  new WorkError({ code: 'agent_failed', message: 'no', details: { type: 'CardError', code: 7, data: [1] } }),
  new RunFailure('diverged', 'elsewhere', { at: 3 }),
  new RejectedError('not today'),
  new HoldfastError('unavailable', 'later'),
  new DOMException('stopped', 'AbortError'),
  new TypeError('wrong'),
  Object.assign(new Error('own'), { name: 'OwnError', code: 'E_OWN', data: { left: 2 } }),
])('isolated errors: %o keeps its class, name, message, code and data in the other thread', (error) => {
  const { name, message } = error
  const { code, data, failure } = error as { code?: unknown; data?: unknown; failure?: unknown }
  expect(sent(error)).toMatchObject({ name, message })
  expect((sent(error) as Error).constructor).toBe(error.constructor)
  const got = sent(error) as { code?: unknown; data?: unknown; failure?: unknown }
  expect({ code: got.code, data: got.data, failure: got.failure }).toEqual({ code, data, failure })
})

test('isolated errors: an error that crosses back is the same object, also as the cause of another', () => {
  const [thread, host] = [new ErrorTransport(), new ErrorTransport()]
  const thrown = new Error('mine')
  const arrived = host.unpack(structuredClone(thread.pack(thrown, true)))
  const back = thread.unpack(
    structuredClone(host.pack(new WorkError({ code: 'agent_failed', message: 'x' }, { cause: arrived }))),
  )
  expect((back as Error).cause).toBe(thrown)
})

test('isolated errors: unreadable errors, and values that are not errors, cross as text', () => {
  expect(sent('text')).toBe('text')
  const unreadable = Object.defineProperty(new Error('x'), 'code', {
    get() {
      throw new Error('no')
    },
  })
  expect(sent(unreadable)).toMatchObject({ message: 'x' })
})
