/** Start page: choose a component, enter an input, open its run. */
import type { ComponentInfo, StartRequest } from 'holdfast/client'
import { type SyntheticEvent, useState } from 'react'
import { useComponents } from '../components.ts'
import { CopyAs } from '../copy-as.tsx'
import { Fields } from '../form/fields.tsx'
import { type FormValues, inputFormOf, isPlainText, readForm, readJson } from '../form/schema-form.ts'
import { Empty, Loading, Problem } from '../parts.tsx'
import { navigate, useLocation, withQuery } from '../router.tsx'
import { useSession } from '../session.ts'

export function StartPage() {
  const { components, problem } = useComponents()
  return (
    <>
      <h1>Start a run</h1>
      {problem !== undefined && <Problem cause={problem} />}
      {components === undefined && problem === undefined && <Loading what="components" />}
      {components?.length === 0 && <Empty title="This server has no components" />}
      {components !== undefined && components.length > 0 && <Start components={components} />}
    </>
  )
}

function Start({ components }: { readonly components: readonly ComponentInfo[] }) {
  const location = useLocation()
  const chosen = components.find(({ id }) => id === location.query.get('component')) ?? components[0]!
  return (
    <div className="start">
      <fieldset className="component-choice">
        <legend>Component</legend>
        {components.map((component) => (
          <label key={component.id} className="choice">
            <input
              type="radio"
              name="component"
              checked={component.id === chosen.id}
              onChange={() => navigate(withQuery(location, { component: component.id }), { replace: true })}
            />
            <span className="choice-name">
              {component.name ?? component.id} <code>{component.id}</code>
            </span>
            <span className="step-kind">{component.kind}</span>
            <span className="choice-about">{component.description}</span>
          </label>
        ))}
      </fieldset>
      <StartForm component={chosen} session={location.query.get('session') ?? ''} />
    </div>
  )
}

function StartForm({ component, session: given }: { readonly component: ComponentInfo; readonly session: string }) {
  const { client, key } = useSession()
  const [text, setText] = useState('')
  const [filled, setFilled] = useState<Readonly<Record<string, FormValues>>>({})
  const [asJson, setAsJson] = useState(false)
  const [session, setSession] = useState(given)
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const form = inputFormOf(component)
  const fields = filled[component.id] ?? NOTHING
  const read = asJson || form === undefined ? readJson(text, 'The input') : readForm(form, fields)
  const request: StartRequest = {
    component: component.id,
    input: 'value' in read ? read.value : undefined,
    ...(session.trim() !== '' && { session: session.trim() }),
  }
  const start = async (event: SyntheticEvent): Promise<void> => {
    event.preventDefault()
    if ('wrong' in read) return setProblem(new Error(read.wrong))
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
    <form
      className="start-form"
      onSubmit={(event) => void start(event)}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void start(event)
      }}
    >
      {form !== undefined && (
        <div className="segmented" role="group" aria-label="Form of the input">
          <button type="button" aria-pressed={!asJson} onClick={() => setAsJson(false)}>
            {isPlainText(form) ? 'Text' : 'Form'}
          </button>
          <button type="button" aria-pressed={asJson} onClick={() => setAsJson(true)}>
            JSON
          </button>
        </div>
      )}
      {asJson || form === undefined ? (
        <label>
          Input
          <textarea
            rows={6}
            value={text}
            placeholder='{ "text": "…" }'
            onChange={({ target }) => setText(target.value)}
          />
        </label>
      ) : (
        <Fields form={form} filled={fields} onChange={(changed) => setFilled({ ...filled, [component.id]: changed })} />
      )}
      <label>
        Session
        <input value={session} placeholder="a new one" onChange={({ target }) => setSession(target.value)} />
      </label>
      <p className="hint">
        After a crash its runs {RECOVERY[component.recovery]}. While its session is busy a new run{' '}
        {BUSY[component.onBusySession]}.
      </p>
      <div className="buttons">
        <button type="submit" className="primary" disabled={busy}>
          {busy ? 'Starting…' : 'Start'}
        </button>
      </div>
      {problem !== undefined && <Problem cause={problem} />}
      {'value' in read ? (
        <CopyAs request={request} kind={component.kind} keyed={key !== undefined} />
      ) : (
        <p className="hint">When it is filled in, the same start is here as a command and as code. {read.wrong}.</p>
      )}
    </form>
  )
}

const NOTHING: FormValues = new Map()
const RECOVERY = { fail: 'fail', retry: 'start again', resume: 'resume from the log' } as const
const BUSY = {
  reject: 'is refused',
  enqueue: 'waits',
  interrupt: 'stops the other',
  parallel: 'runs beside the other',
} as const
