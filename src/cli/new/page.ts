/** The component that the templates with a page share: asks the agent, and shows the run. */
export const PAGE = `import { createClient } from 'holdfast/client'
import { useRun } from 'holdfast/react'

const client = createClient({ url: '/api/agents' })

/** Kill the server while it answers and start it again: the answer continues. A reload shows the same run. */
export default function Page() {
  const run = useRun({ client, component: 'assistant' })
  return (
    <main>
      <h1>My application</h1>
      <button onClick={() => void run.start('What time is it in Asia/Tokyo?')}>Ask</button>
      <p>{run.text}</p>
      <p>{run.error?.message ?? run.problem?.message ?? run.status}</p>
    </main>
  )
}
`

export const REACT_PACKAGES = {
  dependencies: { react: '^19.0.0', 'react-dom': '^19.0.0' },
  devDependencies: { '@types/react': '^19.0.0', '@types/react-dom': '^19.0.0' },
} as const
