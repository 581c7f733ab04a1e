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
          The server did not take the key that you gave.
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
        It is kept in this tab until you close it, and is in no address. <code>holdfast keys create</code> makes one.
      </p>
      <button type="submit" className="primary">
        Go on
      </button>
    </form>
  )
}
