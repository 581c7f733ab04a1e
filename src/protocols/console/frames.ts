/** The raw bytes of a protocol's view of a run, up to its current log end. */
import { type Encoded, textsOf } from '../../core/delivery/encoded.ts'
import { START } from '../../core/model/cursor.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { lastOf, type Slice } from '../../core/model/record.ts'
import type { StoredRun } from '../../core/ports/store.ts'
import type { Service } from '../../core/service.ts'
import { respondText } from '../../http/response/respond.ts'
import type { Call } from '../../http/routing/route.ts'

export interface ProtocolView {
  readonly id: string
  /** Display name. */
  readonly title: string
  /** An encoder that starts at the beginning of the log. */
  open(stored: StoredRun): Promise<{ encode(slice: Slice): Encoded }>
}

const FRAMES_CHARS_MAX = 1_000_000

export async function serveFrames(call: Call, service: Service, views: readonly ProtocolView[]): Promise<void> {
  const wanted = call.query.get('as') ?? ''
  const view = views.find(({ id }) => id === wanted)
  if (view === undefined) {
    const known = views.map(({ id }) => id).join(', ')
    throw new HoldfastError(
      'invalid_request',
      `unknown value ${JSON.stringify(wanted.slice(0, 100))} of ?as=: use one of ${known}`,
    )
  }
  const id = call.params['id']!
  const stored = await service.get(call.principal, id)
  const fold = await view.open(stored)
  let text = ''
  let after = Math.max(START, stored.first - 1)
  while (text.length < FRAMES_CHARS_MAX && !call.signal.aborted) {
    const slice = await service.read(call.principal, id, after)
    if (slice === undefined) break
    for (const part of textsOf(fold.encode(slice))) {
      text += part
      if (text.length > FRAMES_CHARS_MAX) break
    }
    after = lastOf(slice)
    if (slice.closed) break
  }
  const whole = text.length <= FRAMES_CHARS_MAX
  const visible = whole ? text : text.slice(0, Math.max(text.lastIndexOf('\n\n', FRAMES_CHARS_MAX), 0) + 2)
  respondText(call.response, 200, 'text/plain; charset=utf-8', visible, { 'holdfast-whole': String(whole) })
}
