/** A page with many runs, each shown by `useRun`; the program that opened it reads `window.views`. */
import { createElement as h, useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { createClient } from '../../../src/client/index.ts'
import { useRun } from '../../../src/react/index.ts'

/** What a view shows. */
export interface Shown {
  readonly id: string | undefined
  readonly status: string
  readonly text: string
  readonly events: number
  readonly problem: string | undefined
}

declare global {
  interface Window {
    views: Shown[]
  }
}

const query = new URLSearchParams(location.search)
const script = query.get('script')!
const client = createClient({
  retries: Number(query.get('retries')),
  idleTimeoutMs: Number(query.get('idleTimeoutMs')),
})
window.views = []

function View({ place }: { readonly place: number }) {
  const run = useRun({ client, component: 'lab-resume', keep: 'nowhere', name: `view-${place}` })
  const { id, status, text, events, problem, start } = run
  useEffect(() => void start(script), [start])
  window.views[place] = { id, status, text, events: events.length, problem: problem?.message }
  return h('p', null, `${status} ${text}`)
}

const places = Array.from({ length: Number(query.get('views')) }, (_, place) => place)
createRoot(document.getElementById('root')!).render(places.map((place) => h(View, { key: place, place })))
