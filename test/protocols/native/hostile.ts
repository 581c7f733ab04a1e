/** Limits that hostile input reaches, and checks that the server stays healthy. */
import { expect } from 'vitest'
import { call } from '../../support/http.ts'
import type { NativeServer } from './serve.ts'

export const BODY_BYTES_MAX = 100_000
export const HEADER_BYTES_MAX = 8192
export const narrow = { maxBodyBytes: BODY_BYTES_MAX, maxHeaderBytes: HEADER_BYTES_MAX }

export async function expectGoesOn(server: NativeServer): Promise<void> {
  expect(await call(server, 'GET', '/health')).toMatchObject({ status: 200, body: { status: 'ok' } })
}
