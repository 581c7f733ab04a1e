/** Goes on in the same session: another run of the same component. */
import { type FormEvent, useState } from 'react'
import { Problem } from '../parts.tsx'
import { navigate } from '../router.tsx'
import { useSession } from '../session.ts'

export function Composer({ component, session }: { readonly component: string; readonly session: string }) {
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
        Go on in this session
        <textarea rows={2} required value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <button type="submit" className="primary" disabled={busy}>
        Send
      </button>
      {problem !== undefined && <Problem cause={problem} />}
    </form>
  )
}
