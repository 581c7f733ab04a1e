/** Chooses a component, gives it an input, and goes to its run. */
import type { ComponentInfo, StartRequest } from 'holdfast/client'
import { type FormEvent, useState } from 'react'
import { useComponents } from '../components.ts'
import { CopyAs } from '../copy-as.tsx'
import { Empty, Loading, Problem } from '../parts.tsx'
import { navigate, usePlace, withQuery } from '../router.tsx'
import { useSession } from '../session.ts'

export function StartPage() {
  const { components, problem } = useComponents()
  const place = usePlace()
  if (problem !== undefined) return <Problem cause={problem} />
  if (components === undefined) return <Loading what="components" />
  if (components.length === 0) return <Empty title="This server has no components" />
  const chosen = components.find(({ id }) => id === place.query.get('component')) ?? components[0]!
  return (
    <>
      <h1>Start a run</h1>
      <div className="start">
        <fieldset className="component-choice">
          <legend>Component</legend>
          {components.map((component) => (
            <label key={component.id} className="choice">
              <input
                type="radio"
                name="component"
                checked={component.id === chosen.id}
                onChange={() => navigate(withQuery(place, { component: component.id }), { replace: true })}
              />
              <span className="choice-name">
                {component.name ?? component.id} <code>{component.id}</code>
              </span>
              <span className="step-kind">{component.kind}</span>
              <span className="choice-about">{component.description}</span>
            </label>
          ))}
        </fieldset>
        <StartForm component={chosen} session={place.query.get('session') ?? ''} />
      </div>
    </>
  )
}

function StartForm({ component, session: given }: { readonly component: ComponentInfo; readonly session: string }) {
  const { client, key } = useSession()
  const [input, setInput] = useState('')
  const [form, setForm] = useState<'text' | 'json'>('text')
  const [session, setSession] = useState(given)
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const read = readInput(input, form)
  const request: StartRequest = {
    component: component.id,
    input: read.value,
    ...(session.trim() !== '' && { session: session.trim() }),
  }
  const start = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    if (read.wrong !== undefined) return setProblem(new Error(read.wrong))
    setBusy(true)
    setProblem(undefined)
    try {
      const run = await client.runs.start(request)
      navigate(`/runs/${encodeURIComponent(run.id)}`)
    } catch (cause) {
      setProblem(cause)
      setBusy(false)
    }
  }
  return (
    <form className="start-form" onSubmit={(event) => void start(event)}>
      <div className="label-row">
        <label htmlFor="input">Input</label>
        <div className="segmented" role="group" aria-label="Form of the input">
          {(['text', 'json'] as const).map((name) => (
            <button key={name} type="button" aria-pressed={form === name} onClick={() => setForm(name)}>
              {name === 'text' ? 'Text' : 'JSON'}
            </button>
          ))}
        </div>
      </div>
      <textarea
        id="input"
        rows={6}
        value={input}
        placeholder={form === 'json' ? '{ "text": "…" }' : placeholderOf(component)}
        onChange={({ target }) => setInput(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void start(event)
        }}
      />
      <label>
        Session
        <input value={session} placeholder="a new one" onChange={({ target }) => setSession(target.value)} />
      </label>
      <p className="hint">
        After a crash its runs {RECOVERY[component.recovery]}. While its session is busy a new run{' '}
        {BUSY[component.session]}.
      </p>
      <div className="buttons">
        <button type="submit" className="primary" disabled={busy}>
          {busy ? 'Starting…' : 'Start'}
        </button>
      </div>
      {problem !== undefined && <Problem cause={problem} />}
      <CopyAs request={request} kind={component.kind} keyed={key !== undefined} />
    </form>
  )
}

const RECOVERY = { fail: 'fail', retry: 'start again', resume: 'go on where they were' } as const
const BUSY = {
  reject: 'is refused',
  enqueue: 'waits',
  interrupt: 'stops the other',
  parallel: 'runs beside the other',
} as const

function placeholderOf({ id, description }: ComponentInfo): string {
  if (id.startsWith('lab')) return 'text 50 every 100; tool search 300; ask "Shall I go on?"; text 20 every 50'
  return /"([^"]+)"/.exec(description ?? '')?.[1] ?? 'What shall it do?'
}

function readInput(text: string, form: 'text' | 'json'): { readonly value: unknown; readonly wrong?: string } {
  if (form === 'text') return { value: text }
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (cause) {
    return { value: text, wrong: `The input is not JSON: ${(cause as Error).message}` }
  }
}
