/** Small shared components. */
import { ClientError, type RunStatus } from 'holdfast/client'
import { type ReactNode, useEffect, useState } from 'react'
import { shown } from './format.ts'

export function Status({ status }: { readonly status: RunStatus }) {
  return (
    <span className="status" data-status={status}>
      <span className="dot" aria-hidden="true" />
      {status}
    </span>
  )
}

export function Problem({ cause, children }: { readonly cause: unknown; readonly children?: ReactNode }) {
  const code = cause instanceof ClientError ? cause.code : 'unexpected'
  return (
    <div className="problem" role="alert">
      <strong>{TITLES[code] ?? 'The request failed'}</strong>
      <p>{cause instanceof Error ? cause.message : String(cause)}</p>
      {children}
    </div>
  )
}

const TITLES: Readonly<Record<string, string>> = {
  not_found: 'There is no such run',
  unauthenticated: 'A key is required',
  connection: 'The server cannot be reached',
  invalid_request: 'The server refused the request',
  gap: 'These events were trimmed',
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children}
    </div>
  )
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <p className="loading" role="status">
      Loading {what}…
    </p>
  )
}

/** Collapses long values without truncating them. */
export function Value({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = shown(value)
  const [whole, setWhole] = useState(false)
  const isLong = text.length > VALUE_CHARS
  return (
    <div className="value">
      <pre tabIndex={0} aria-label={label}>
        {isLong && !whole ? `${text.slice(0, VALUE_CHARS)}…` : text}
      </pre>
      {isLong && (
        <button type="button" className="quiet" onClick={() => setWhole(!whole)}>
          {whole ? 'Show less' : `Show all ${text.length.toLocaleString('en')} characters`}
        </button>
      )}
    </div>
  )
}

const VALUE_CHARS = 2000

export function CopyButton({
  text,
  children,
}: {
  readonly text: string | (() => string)
  readonly children: ReactNode
}) {
  const [said, setSaid] = useState<string>()
  useEffect(() => {
    if (said === undefined) return
    const timer = setTimeout(() => setSaid(undefined), 2000)
    return () => clearTimeout(timer)
  }, [said])
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
      setSaid('Copied')
    } catch {
      setSaid('Not allowed here')
    }
  }
  return (
    <button type="button" className="quiet" onClick={() => void copy()}>
      <span aria-live="polite">{said ?? children}</span>
    </button>
  )
}

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** The current time, updated regularly. */
export function useNow(everyMs = 1000, active = true): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (!active) return
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs, active])
  return now
}

export interface TabsProps<Name extends string> {
  readonly label: string
  readonly tabs: Readonly<Partial<Record<Name, string>>>
  readonly current: Name
  readonly onChange: (name: Name) => void
}

/** Tab list with arrow-key navigation. */
export function Tabs<Name extends string>({ label, tabs, current, onChange }: TabsProps<Name>) {
  const names = Object.keys(tabs) as Name[]
  const move = (step: number): void => {
    const next = names[(names.indexOf(current) + step + names.length) % names.length]!
    onChange(next)
    document.getElementById(`tab-${next}`)?.focus()
  }
  return (
    <div className="tabs" role="tablist" aria-label={label}>
      {names.map((name) => (
        <button
          key={name}
          id={`tab-${name}`}
          type="button"
          role="tab"
          aria-selected={name === current}
          aria-controls={`panel-${name}`}
          tabIndex={name === current ? 0 : -1}
          onClick={() => onChange(name)}
          onKeyDown={({ key }) => {
            if (key === 'ArrowRight') move(1)
            if (key === 'ArrowLeft') move(-1)
          }}
        >
          {tabs[name]}
        </button>
      ))}
    </div>
  )
}
