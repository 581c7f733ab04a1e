/** The log: all events, and the details of the selected one. */
import type { LoggedEvent } from 'holdfast/client'
import { clock, json } from '../format.ts'
import { CopyButton, Empty } from '../parts.tsx'
import { VirtualList } from '../virtual-list.tsx'
import type { ShownRun } from './run-watch.ts'

export interface LogPanelProps {
  readonly shown: ShownRun
  /** Index of the selected event. */
  readonly chosen: number | undefined
  readonly onChoose: (index: number | undefined) => void
}

const ROW_PX = 28

export function LogPanel({ shown, chosen, onChoose }: LogPanelProps) {
  const { events, upTo, earliest } = shown
  const first = events[0]?.index ?? 0
  const row = chosen === undefined ? undefined : chosen - first
  const event = row === undefined ? undefined : events[row]
  if (upTo === 0) return <Empty title="No events yet" />
  return (
    <div className="log-panel">
      {earliest > 0 && <p className="notice">Events before {earliest} were trimmed.</p>}
      <VirtualList
        label="Events"
        count={upTo}
        rowHeight={ROW_PX}
        selected={event === undefined ? undefined : row}
        onSelect={(at) => onChoose(events[at]?.index)}
        follows
        row={(at) => <EventRow event={events[at]!} />}
      />
      {event !== undefined && (
        <section className="event-detail" aria-label={`Event ${event.index}`}>
          <header>
            <h3>
              <span className="index">{event.index}</span> {event.type}
            </h3>
            <CopyButton text={() => json(event)}>Copy JSON</CopyButton>
            <CopyButton text={() => location.href}>Copy link</CopyButton>
            <button type="button" className="quiet" onClick={() => onChoose(undefined)}>
              Close
            </button>
          </header>
          <pre tabIndex={0} aria-label="The event as JSON">
            {json(event).slice(0, EVENT_CHARS_SHOWN)}
          </pre>
        </section>
      )}
    </div>
  )
}

/** Limit for display, since an event may have 4 MiB; copying gets all of it. */
const EVENT_CHARS_SHOWN = 100_000

function EventRow({ event }: { readonly event: LoggedEvent }) {
  return (
    <span className="event-row" data-family={event.type.split('.')[0]}>
      <span className="index">{event.index}</span>
      <time dateTime={event.time}>{clock(event.time)}</time>
      <span className="event-type">{event.type}</span>
      {event.actor !== undefined && <span className="event-actor">{event.actor.component}</span>}
      <span className="preview">{preview(event)}</span>
    </span>
  )
}

function preview({ data }: LoggedEvent): string {
  const { text, name, step, message } = data as Readonly<Record<string, unknown>>
  if (typeof text === 'string') return JSON.stringify(text.slice(0, 200))
  if (typeof name === 'string') return name.slice(0, 200)
  if (typeof step === 'string') return step.slice(0, 200)
  if (typeof message === 'string') return message.slice(0, 200)
  return ''
}
