/** Virtual list of rows with equal height: renders only visible rows, and is one tab stop. */
import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'

export interface VirtualListProps {
  readonly label: string
  readonly count: number
  readonly rowHeight: number
  readonly selected: number | undefined
  readonly onSelect: (row: number) => void
  readonly row: (row: number) => ReactNode
  /** Stays at the end while rows are added, until the user scrolls away. */
  readonly follows?: boolean
}

/** Rows rendered above and below the visible ones. */
const MARGIN_ROWS = 12

export function VirtualList({ label, count, rowHeight, selected, onSelect, row, follows = false }: VirtualListProps) {
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  const atEnd = useRef(true)
  useLayoutEffect(() => {
    const element = box.current!
    const look = (): void => setView({ top: element.scrollTop, height: element.clientHeight })
    const observer = new ResizeObserver(look)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  useLayoutEffect(() => {
    if (follows && atEnd.current && selected === undefined) box.current!.scrollTop = count * rowHeight
  }, [follows, count, rowHeight, selected])
  useEffect(() => {
    if (selected === undefined) return
    const element = box.current!
    const top = selected * rowHeight
    if (top < element.scrollTop || top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = Math.max(0, top - element.clientHeight / 2)
  }, [selected, rowHeight])

  const onScroll = (): void => {
    const { scrollTop, clientHeight, scrollHeight } = box.current!
    atEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight * 2
    setView({ top: scrollTop, height: clientHeight })
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1)
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }
    const ends: Readonly<Record<string, number>> = { Home: 0, End: count - 1 }
    const step = steps[event.key]
    const to = ends[event.key] ?? (step === undefined ? undefined : (selected ?? (step > 0 ? -1 : count)) + step)
    if (to === undefined || count === 0) return
    event.preventDefault()
    onSelect(Math.min(Math.max(to, 0), count - 1))
  }
  const first = Math.max(0, Math.floor(view.top / rowHeight) - MARGIN_ROWS)
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + MARGIN_ROWS)
  const id = (index: number): string => `${label.replaceAll(' ', '-')}-${index}`
  return (
    <div
      ref={box}
      className="virtual"
      role="listbox"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={selected !== undefined && selected >= first && selected < last ? id(selected) : undefined}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      <div className="virtual-space" role="presentation" style={{ height: count * rowHeight }}>
        {Array.from({ length: Math.max(0, last - first) }, (_, offset) => first + offset).map((index) => (
          <div
            key={index}
            id={id(index)}
            role="option"
            aria-selected={index === selected}
            aria-posinset={index + 1}
            aria-setsize={count}
            className="virtual-row"
            style={{ top: index * rowHeight, height: rowHeight }}
            onClick={() => onSelect(index)}
          >
            {row(index)}
          </div>
        ))}
      </div>
    </div>
  )
}
