/** A page with many runs, each shown by `useRun`. The test program reads `window.views` and `window.tries`. */
import { createElement as h, useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { createClient } from '../../../src/client/index.ts'
import { useRun } from '../../../src/react/index.ts'
import { recordTries, type Tries } from './tries.ts'

/** State of a view. */
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
    tries: Tries
  }
}

const query = new URLSearchParams(location.search)
const script = query.get('script')!
window.views = []
const { tries, fetch, onProblem } = recordTries()
window.tries = tries
const client = createClient({
  retries: Number(query.get('retries')),
  idleTimeoutMs: Number(query.get('idleTimeoutMs')),
  fetch,
  onProblem,
})

function View({ place }: { readonly place: number }) {
  const name = `view-${place}`
  const run = useRun({ client, component: 'lab-resume', persist: false, name, session: name })
  const { id, status, text, events, problem, start } = run
  useEffect(() => void start(script), [start])
  window.views[place] = { id, status, text, events: events.length, problem: problem?.message }
  return h('p', null, `${status} ${text}`)
}

const places = Array.from({ length: Number(query.get('views')) }, (_, place) => place)
createRoot(document.getElementById('root')!).render(places.map((place) => h(View, { key: place, place })))
