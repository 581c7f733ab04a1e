/** Router: the URL is the only source of the current location. */
import { type MouseEvent, type ReactNode, useMemo, useSyncExternalStore } from 'react'
import { consolePath } from './mount-point.ts'

const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  addEventListener('popstate', listener)
  return () => {
    listeners.delete(listener)
    removeEventListener('popstate', listener)
  }
}

export interface Location {
  /** Path below the console, such as `/runs/run_01…`. */
  readonly path: string
  readonly query: URLSearchParams
}

export function useLocation(): Location {
  const address = useSyncExternalStore(subscribe, () => location.pathname + location.search)
  return useMemo(() => {
    const [path = '', search = ''] = address.split('?')
    return { path: path.slice(consolePath.length).replace(/\/$/, '') || '/', query: new URLSearchParams(search) }
  }, [address])
}

/** A share link's token stays in the URL, so that a reload works. */
function sharedHash(): string {
  return location.hash.startsWith('#share=') ? location.hash : ''
}

export function navigate(to: string, { replace = false } = {}): void {
  const address = consolePath + to + sharedHash()
  if (replace) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  for (const listener of listeners) listener()
  if (!replace) scrollTo(0, 0)
}

/** The same location with changed parameters; empty ones are removed. */
export function withQuery({ path, query }: Location, changes: Readonly<Record<string, string | undefined>>): string {
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.delete(name)
    else next.set(name, value)
  }
  const search = next.toString()
  return search === '' ? path : `${path}?${search}`
}

export interface LinkProps {
  readonly to: string
  readonly className?: string
  readonly current?: boolean
  readonly title?: string
  readonly children: ReactNode
}

export function Link({ to, className, current = false, title, children }: LinkProps) {
  const follow = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    navigate(to)
  }
  return (
    <a
      href={consolePath + to}
      className={className}
      title={title}
      onClick={follow}
      aria-current={current ? 'page' : undefined}
    >
      {children}
    </a>
  )
}
