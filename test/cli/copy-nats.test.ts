/** `holdfast copy` into a NATS store and back. */
import { test } from 'vitest'
import { startNats, urlOf } from '../support/nats.ts'
import { expectSameAfterRoundTrip } from './transfer/round-trip.ts'

const nats = await startNats()

test('[LOG-5] a store copied to NATS and back is unchanged, and its runs resume', { timeout: 180_000 }, () =>
  expectSameAfterRoundTrip(urlOf([nats])),
)
