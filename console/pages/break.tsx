/** "Break it" page: disturbs connections and servers, and shows how viewers catch up. */
import type { ComponentInfo } from 'holdfast/client'
import { type FormEvent, useState } from 'react'
import { Kill } from '../break/kill.tsx'
import { Viewer } from '../break/viewer.tsx'
import { useComponents } from '../components.ts'
import { Empty, Loading, Problem } from '../parts.tsx'
import { Link, navigate, useLocation, withQuery } from '../router.tsx'
import { useSession } from '../session.ts'

const VIEWERS_MAX = 4

export function BreakPage() {
  const location = useLocation()
  const { components, problem } = useComponents()
  const run = location.query.get('run') ?? undefined
  if (components === undefined)
    return (
      <>
        <h1>Break it</h1>
        {problem === undefined ? <Loading what="components" /> : <Problem cause={problem} />}
      </>
    )
  return (
    <>
      <h1>Break it</h1>
      <p className="lead">
        Start something long, then cut, stall and kill. The log has every event, and a viewer is a cursor in it, so no
        event is lost or shown twice.
      </p>
      {components.length === 0 ? (
        <Empty title="This server has no components" />
      ) : (
        <BreakForm components={components} />
      )}
      {run !== undefined && <Viewers key={run} run={run} />}
      {components.some(({ id }) => id === 'lab-resume') ? <Kill /> : <NoLab />}
    </>
  )
}

const SCRIPTS: Readonly<Record<string, string>> = {
  'A long text': 'text 600 every 50',
  'Text, tools and steps': 'text 40 every 50; step prepare 500; tool search 800; text 200 every 50',
  'A process that dies once': 'step prepare; text 40 every 50; sleep 100; die 1; text 100 every 50',
  'As fast as it can': 'text 5000',
  'Something that cannot be serialized': 'text 20 every 50; circular',
}

function BreakForm({ components }: { readonly components: readonly ComponentInfo[] }) {
  const { client } = useSession()
  const location = useLocation()
  const lab = components.find(({ id }) => id === 'lab-resume')
  const [component, setComponent] = useState((lab ?? components[0]!).id)
  const isLab = component.startsWith('lab')
  const [input, setInput] = useState(
    lab === undefined ? 'Tell me a story about a brave knight' : SCRIPTS['A long text']!,
  )
  const [problem, setProblem] = useState<unknown>()
  const start = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setProblem(undefined)
    try {
      const { id } = await client.runs.start({ component, input })
      navigate(withQuery(location, { run: id }))
    } catch (cause) {
      setProblem(cause)
    }
  }
  return (
    <form className="card break-form" onSubmit={(event) => void start(event)}>
      <label>
        Component
        <select value={component} onChange={({ target }) => setComponent(target.value)}>
          {components.map(({ id }) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      </label>
      {isLab && (
        <label>
          Script
          <select value={input} onChange={({ target }) => setInput(target.value)}>
            {Object.entries(SCRIPTS).map(([title, script]) => (
              <option key={title} value={script}>
                {title}
              </option>
            ))}
            {!Object.values(SCRIPTS).includes(input) && <option value={input}>Your own</option>}
          </select>
        </label>
      )}
      <label className="grow">
        Input
        <input value={input} required onChange={({ target }) => setInput(target.value)} />
      </label>
      <button type="submit" className="primary">
        Start
      </button>
      {problem !== undefined && <Problem cause={problem} />}
    </form>
  )
}

function Viewers({ run }: { readonly run: string }) {
  const [numbers, setNumbers] = useState([1])
  const add = (): void => setNumbers([...numbers, Math.max(...numbers) + 1])
  return (
    <section aria-label="Viewers">
      <div className="page-head">
        <p className="run-id">
          <Link to={`/runs/${encodeURIComponent(run)}`}>Run {run}</Link>
        </p>
        <button type="button" onClick={add} disabled={numbers.length >= VIEWERS_MAX}>
          Open another viewer
        </button>
      </div>
      <div className="viewers">
        {numbers.map((number) => (
          <Viewer
            key={number}
            run={run}
            number={number}
            onClose={numbers.length === 1 ? undefined : () => setNumbers(numbers.filter((each) => each !== number))}
          />
        ))}
      </div>
    </section>
  )
}

function NoLab() {
  return (
    <p className="hint">
      With <code>--lab</code> the server can also run scripts that throw, hang and kill its process.
    </p>
  )
}
