/** The run's frames in a protocol's wire format. */
import { useEffect, useMemo, useState } from 'react'
import { type Frames, readFrames, readServer, type ServerReport } from '../api.ts'
import { bytes } from '../format.ts'
import { CopyButton, Empty, Loading, Problem } from '../parts.tsx'
import { useSession } from '../session.ts'
import { VirtualList } from '../virtual-list.tsx'

const ROW_PX = 22

export function WirePanel({ run, ended }: { readonly run: string; readonly ended: boolean }) {
  const session = useSession()
  const [views, setViews] = useState<ServerReport['views']>([])
  const [view, setView] = useState('native')
  const [frames, setFrames] = useState<Frames>()
  const [problem, setProblem] = useState<unknown>()
  const [line, setLine] = useState<number>()
  const [asked, setAsked] = useState(0)
  useEffect(() => {
    const leaving = new AbortController()
    readServer(session, leaving.signal).then(({ views: known }) => setViews(known), ignore)
    return () => leaving.abort()
  }, [session])
  useEffect(() => {
    const leaving = new AbortController()
    setProblem(undefined)
    readFrames(session, run, view, leaving.signal).then(setFrames, (cause: unknown) => {
      if (!leaving.signal.aborted) setProblem(cause)
    })
    return () => leaving.abort()
    // Not updated with every event; the user reloads.
  }, [session, run, view, ended, asked])
  const lines = useMemo(() => (frames?.text ?? '').split('\n'), [frames])
  return (
    <div className="wire-panel">
      <div className="wire-head">
        <label>
          Protocol
          <select value={view} onChange={({ target }) => (setView(target.value), setLine(undefined))}>
            {(views.length === 0 ? [{ id: 'native', title: 'Holdfast' }] : views).map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        </label>
        {frames !== undefined && <span className="step-kind">{bytes(frames.text.length)}</span>}
        <span className="wire-actions">
          <button type="button" className="quiet" onClick={() => setAsked(asked + 1)}>
            Refresh
          </button>
          <CopyButton text={() => frames?.text ?? ''}>Copy all</CopyButton>
        </span>
      </div>
      {problem !== undefined && <Problem cause={problem} />}
      {frames === undefined && problem === undefined && <Loading what="frames" />}
      {frames?.whole === false && <p className="notice">Showing the first frames only.</p>}
      {frames !== undefined && frames.text === '' && <Empty title="No frames in this protocol yet" />}
      {frames !== undefined && frames.text !== '' && (
        <VirtualList
          label="Bytes"
          count={lines.length}
          rowHeight={ROW_PX}
          selected={line}
          onSelect={setLine}
          row={(at) => <WireLine line={lines[at]!} />}
        />
      )}
      {line !== undefined && (
        <pre className="wire-whole" tabIndex={0} aria-label="The chosen line">
          {lines[line]}
        </pre>
      )}
    </div>
  )
}

const LINE_CHARS_SHOWN = 500

/** An empty line ends a frame, so it is shown too. */
function WireLine({ line }: { readonly line: string }) {
  return (
    <code className="wire-line" data-empty={line === '' || undefined}>
      {line === '' ? '⏎' : line.slice(0, LINE_CHARS_SHOWN)}
    </code>
  )
}

function ignore(): void {}
