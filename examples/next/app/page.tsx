'use client'
import { createClient } from 'holdfast/client'
import { useRun } from 'holdfast/react'

const client = createClient({ url: '/api/agents' })

/** Kill the server while it counts, start it again, and watch: the count goes on. A reload shows the same run. */
export default function Page() {
  const run = useRun({ client, component: 'counter' })
  return (
    <main>
      <h1>My application</h1>
      <button onClick={() => void run.start('Wave')}>Count waves</button>
      <pre>{run.text}</pre>
      <p>{run.problem?.message ?? run.status}</p>
    </main>
  )
}
