/** A viewer of a run, with buttons that disturb its connection. */
import { useEffect, useMemo, useReducer } from 'react'
import { count } from '../format.ts'
import { Problem, Status, useNow } from '../parts.tsx'
import { useSession } from '../session.ts'
import { type Tally, ViewerStore } from './viewer-store.ts'

export interface ViewerProps {
  readonly run: string
  readonly number: number
  readonly onClose?: (() => void) | undefined
}

const AWAY_MS = 5000

export function Viewer({ run, number, onClose }: ViewerProps) {
  const { key } = useSession()
  const store = useMemo(() => new ViewerStore(run, key), [run, key])
  const [, redraw] = useReducer((times: number) => times + 1, 0)
  useEffect(() => store.subscribe(redraw), [store])
  const { shown, tally, connectionState } = store
  const now = useNow(200, connectionState.offlineUntil > 0 || connectionState.stalledUntil > 0)
  const away = Math.max(connectionState.offlineUntil, connectionState.stalledUntil) - now
  return (
    <article className="viewer" aria-label={`Viewer ${number}`}>
      <header>
        <h2>Viewer {number}</h2>
        <Status status={shown.status} />
        <span className="connection" role="status" data-state={stateOf(store)}>
          {STATES[stateOf(store)]}
          {away > 0 && ` ${Math.ceil(away / 1000)} s`}
        </span>
      </header>
      <div className="buttons">
        <button type="button" onClick={() => store.connection.cut()} disabled={shown.ended}>
          Cut the connection
        </button>
        <button type="button" onClick={() => store.connection.goOffline(AWAY_MS)} disabled={shown.ended}>
          Offline for 5 s
        </button>
        <button type="button" onClick={() => store.connection.stall(AWAY_MS)} disabled={shown.ended}>
          Stop reading for 5 s
        </button>
        {onClose !== undefined && (
          <button type="button" className="quiet" onClick={onClose}>
            Close
          </button>
        )}
      </div>
      <Numbers tally={tally} reconnects={Math.max(0, connectionState.streams - 1)} />
      <Strip tally={tally} />
      {shown.problem !== undefined && <Problem cause={shown.problem} />}
      <p className="viewer-text" tabIndex={0} role="region" aria-label={`What viewer ${number} has read`}>
        {textOf(store)}
      </p>
    </article>
  )
}

const STATES = {
  live: 'connected',
  offline: 'offline,',
  stalled: 'not reading,',
  failing: 'reconnecting…',
  ended: 'has all of it',
} as const

function stateOf({ shown, connectionState }: ViewerStore): keyof typeof STATES {
  if (shown.ended) return 'ended'
  if (connectionState.offlineUntil > 0) return 'offline'
  if (connectionState.stalledUntil > 0) return 'stalled'
  return connectionState.failing ? 'failing' : 'live'
}

function Numbers({ tally, reconnects }: { readonly tally: Tally; readonly reconnects: number }) {
  const { last, caughtUp, lost, repeated } = tally
  const numbers = { 'Last event': last, Reconnects: reconnects, 'Caught up': caughtUp, Lost: lost, Repeated: repeated }
  return (
    <dl className="tally">
      {Object.entries(numbers).map(([name, value]) => (
        <div
          key={name}
          data-number={name}
          data-bad={((name === 'Lost' || name === 'Repeated') && value > 0) || undefined}
        >
          <dt>{name}</dt>
          <dd>{value < 0 ? '–' : count(value)}</dd>
        </div>
      ))}
    </dl>
  )
}

function Strip({ tally: { strip } }: { readonly tally: Tally }) {
  return (
    <div
      className="strip"
      role="img"
      aria-label={`The last ${strip.length} events; ${strip.filter(({ late }) => late).length} of them caught up with`}
    >
      {strip.map(({ index, late }) => (
        <span key={index} data-late={late || undefined} />
      ))}
    </div>
  )
}

const TEXT_CHARS = 4000

function textOf({ shown }: ViewerStore): string {
  const text = shown.blocks.map((block) => (block.kind === 'text' && !block.discarded ? block.text : '')).join('')
  return text.length > TEXT_CHARS ? `…${text.slice(-TEXT_CHARS)}` : text
}
