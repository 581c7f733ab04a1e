/** Timeline of a run's spans. */
import { useMemo } from 'react'
import { duration } from '../format.ts'
import { Empty } from '../parts.tsx'
import { VirtualList } from '../virtual-list.tsx'
import type { ShownRun } from './run-watch.ts'
import type { Row } from './spans.ts'

export interface TimelineProps {
  readonly shown: ShownRun
  readonly now: number
  readonly chosen: number | undefined
  readonly onChoose: (index: number) => void
}

const ROW_PX = 30

const KINDS: Readonly<Record<Row['kind'], string>> = {
  attempt: 'attempt',
  member: 'member',
  step: 'step',
  tool: 'tool',
  model: 'model',
  wait: 'wait',
  retracted: 'retracted',
}

export function Timeline({ shown, now, chosen, onChoose }: TimelineProps) {
  const { fold, upTo, ended, replaying } = shown
  const rows = useMemo(() => fold.spans.rows(), [fold, upTo])
  if (rows.length === 0) return <Empty title="No timed work yet" />
  const { first, last } = fold.spans
  const end = Math.max(first + 1, ended || replaying ? last : Math.max(last, now))
  const selected = rows.findIndex(({ index }) => index === chosen)
  return (
    <div className="timeline">
      <p className="axis" aria-hidden="true">
        <span>0</span>
        <span>{duration((end - first) / 2)}</span>
        <span>{duration(end - first)}</span>
      </p>
      <VirtualList
        label="Timeline"
        count={rows.length}
        rowHeight={ROW_PX}
        selected={selected < 0 ? undefined : selected}
        onSelect={(at) => onChoose(rows[at]!.index)}
        row={(at) => <SpanRow row={rows[at]!} first={first} end={end} />}
      />
      <ul className="legend">
        <li data-state="done">done</li>
        <li data-state="running">running</li>
        <li data-state="failed">failed</li>
        <li data-state="cut">cut off</li>
        <li data-state="discarded">retracted</li>
      </ul>
    </div>
  )
}

function SpanRow({ row, first, end }: { readonly row: Row; readonly first: number; readonly end: number }) {
  const until = row.end ?? end
  const left = ((row.start - first) / (end - first)) * 100
  const width = Math.max(((until - row.start) / (end - first)) * 100, 0.4)
  return (
    <span className="span-row">
      <span className="span-name" style={{ paddingInlineStart: Math.min(row.depth, 8) * 12 }} title={row.name}>
        <span className="step-kind">{KINDS[row.kind]}</span> {row.name}
      </span>
      <span className="span-track">
        <span
          className="span-bar"
          data-kind={row.kind}
          data-state={row.state}
          style={{ left: `${Math.min(left, 99.5)}%`, width: `${Math.min(width, 100 - Math.min(left, 99.5))}%` }}
        />
      </span>
      <span className="span-time">
        {duration(until - row.start)}
        <span className="sr-only">, {row.state}</span>
      </span>
    </span>
  )
}
