/** Test page with one run in React. The test reads what it shows. */
import { createElement as h, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createClient } from '../../src/client/index.ts'
import { type UseRunResult, useRun } from '../../src/react/index.ts'

const client = createClient()
const persist = location.pathname.endsWith('/storage') ? 'localStorage' : 'url'

function Shown() {
  const run: UseRunResult = useRun({ client, component: 'lab', persist })
  return h(
    'main',
    null,
    h('input', { id: 'script', defaultValue: '' }),
    h('button', { id: 'start', onClick: () => void run.start(valueOf('script')) }, 'Start'),
    h('button', { id: 'stop', onClick: () => void run.stop() }, 'Stop'),
    h('button', { id: 'answer', onClick: () => void run.answer({ answer: 'yes' }) }, 'Answer'),
    h('button', { id: 'clear', onClick: run.clear }, 'Clear'),
    h('p', { id: 'status' }, run.status),
    h('p', { id: 'run' }, run.id ?? ''),
    h('p', { id: 'text' }, run.text),
    h('p', { id: 'events' }, String(run.events.length)),
    h('p', { id: 'questions' }, run.questions.map(({ prompt }) => prompt).join()),
    h('p', { id: 'error' }, run.error?.message ?? ''),
    h('p', { id: 'problem' }, run.problem?.code ?? ''),
  )
}

function valueOf(id: string): string {
  return (document.getElementById(id) as HTMLInputElement).value
}

createRoot(document.getElementById('root')!).render(h(StrictMode, null, h(Shown)))
