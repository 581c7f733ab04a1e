/** Bounds that hostile input reaches, and the question whether the server minds. */
import { expect } from 'vitest'
import { call } from '../../support/http.ts'
import type { NativeServer } from './serve.ts'

export const BODY_BYTES_MAX = 100_000
export const HEADER_BYTES_MAX = 8192
export const narrow = { maxBodyBytes: BODY_BYTES_MAX, maxHeaderBytes: HEADER_BYTES_MAX }

export async function expectGoesOn(server: NativeServer): Promise<void> {
  expect(await call(server, 'GET', '/health')).toMatchObject({ status: 200, body: { status: 'ok' } })
}
