/** Sign-in page for a server that requires a key. */
import { type FormEvent, useState } from 'react'
import { signIn } from '../session.ts'

export function KeyPage({ rejected }: { readonly rejected: boolean }) {
  const [key, setKey] = useState('')
  const enter = (event: FormEvent): void => {
    event.preventDefault()
    signIn(key.trim())
  }
  return (
    <form className="card narrow" onSubmit={enter}>
      <h1>This server needs a key</h1>
      {rejected && (
        <p className="problem" role="alert">
          The server rejected this key.
        </p>
      )}
      <label>
        API key or token
        <input
          type="password"
          autoComplete="off"
          autoFocus
          required
          value={key}
          onChange={({ target }) => setKey(target.value)}
        />
      </label>
      <p className="hint">
        Stored in this tab until you close it, and never in a URL. Create one with <code>holdfast keys create</code>.
      </p>
      <button type="submit" className="primary">
        Continue
      </button>
    </form>
  )
}
