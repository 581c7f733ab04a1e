import { expect, test } from 'vitest'
import { isNeverConnected, wasRejectedUnprocessed } from './not-received.ts'

test('client: a request is safe to resend if its connection was refused or its host was not resolved', () => {
  expect(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].map(isNeverConnected)).toEqual([true, true, true])
  expect(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', undefined].map(isNeverConnected)).toEqual([
    false,
    false,
    false,
    false,
  ])
})

test('client: a request is safe to resend if the server was too busy for it, and not after other errors', () => {
  expect([429, 503].map(wasRejectedUnprocessed)).toEqual([true, true])
  expect([408, 500, 502, 504].map(wasRejectedUnprocessed)).toEqual([false, false, false, false])
})
