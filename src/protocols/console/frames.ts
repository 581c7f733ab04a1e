/** The raw bytes of a protocol's view of a run, up to its current log end. */
import { type Encoded, textsOf } from '../../core/delivery/encoded.ts'
import { START } from '../../core/model/cursor.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { lastOf, type Slice } from '../../core/model/slice.ts'
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
  const text = await textOf(call, service, stored, await view.open(stored))
  const whole = text.length <= FRAMES_CHARS_MAX
  const visible = whole ? text : text.slice(0, Math.max(text.lastIndexOf('\n\n', FRAMES_CHARS_MAX), 0) + 2)
  respondText(call.response, 200, 'text/plain; charset=utf-8', visible, { 'holdfast-whole': String(whole) })
}

/** Stops when the text is longer than it may be. */
async function textOf(
  { principal, signal }: Call,
  service: Service,
  { run, first }: StoredRun,
  encoder: { encode(slice: Slice): Encoded },
): Promise<string> {
  const fold = service.views.folds.begin(run.owner)
  let text = ''
  try {
    for (let after = Math.max(START, first - 1); text.length < FRAMES_CHARS_MAX && !signal.aborted;) {
      fold.signal.throwIfAborted()
      const slice = await service.read(principal, run.id, after)
      if (slice === undefined) break
      for (const part of textsOf(encoder.encode(slice))) {
        text += part
        if (text.length > FRAMES_CHARS_MAX) break
      }
      after = lastOf(slice)
      if (slice.closed) break
      await fold.proceed()
    }
    return text
  } finally {
    fold.end()
  }
}
