/** Continues the session with another run of the same component. */
import { type FormEvent, useState } from 'react'
import { useComponents } from '../components.ts'
import { inputFormOf, isPlainText } from '../form/schema-form.ts'
import { Problem } from '../parts.tsx'
import { Link, navigate } from '../router.tsx'
import { useSession } from '../session.ts'

export interface ComposerProps {
  readonly component: string
  readonly session: string
}

export function Composer({ component, session }: ComposerProps) {
  const { components } = useComponents()
  const found = components?.find(({ id }) => id === component)
  if (found === undefined) return null // no longer served, or not loaded yet
  const form = inputFormOf(found)
  if (form !== undefined && isPlainText(form)) return <TextComposer component={component} session={session} />
  const query = new URLSearchParams({ component, session })
  return (
    <p className="composer">
      <Link to={`/start?${query}`} className="button">
        Continue this session
      </Link>
    </p>
  )
}

function TextComposer({ component, session }: ComposerProps) {
  const { client } = useSession()
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setProblem(undefined)
    try {
      const { id } = await client.runs.start({ component, session, input: text })
      navigate(`/runs/${encodeURIComponent(id)}`)
    } catch (cause) {
      setProblem(cause)
      setBusy(false)
    }
  }
  return (
    <form className="composer" onSubmit={(event) => void send(event)}>
      <label>
        Continue this session
        <textarea rows={2} required value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <button type="submit" className="primary" disabled={busy}>
        Send
      </button>
      {problem !== undefined && <Problem cause={problem} />}
    </form>
  )
}
