/** A Next.js application: agents in a route handler, and a page that shows a run. */
import { PAGE, REACT_PACKAGES } from './page.ts'
import type { Template } from './project.ts'
import { bundlerTsconfig, GITIGNORE, MOUNTED_AGENTS, packageJson, readme } from './shared-files.ts'

const ROUTE = `import { hf } from '../../../../agents.ts'

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = hf.handlers
`

const LAYOUT = `import type { ReactNode } from 'react'

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  )
}
`

const INSTRUMENTATION = `/** Continues runs that a crash interrupted when the server starts. */
export async function register() {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { hf } = await import('./agents.ts')
  await hf.ready()
}
`

export const nextFiles: Template = (name, versions) => ({
  'package.json': packageJson(name, versions, {
    scripts: { dev: 'next dev', build: 'next build', start: 'next start', check: 'tsc' },
    dependencies: { ...REACT_PACKAGES.dependencies, next: '^16.0.0' },
    devDependencies: { ...REACT_PACKAGES.devDependencies, typescript: '^5.9.0' },
  }),
  'tsconfig.json': bundlerTsconfig(
    { allowJs: true, esModuleInterop: true, incremental: true, resolveJsonModule: true, plugins: [{ name: 'next' }] },
    ['next-env.d.ts', '**/*.ts', '**/*.tsx', '.next/types/**/*.ts', '.next/dev/types/**/*.ts'],
  ),
  '.gitignore': `${GITIGNORE}.next/\nnext-env.d.ts\n*.tsbuildinfo\n`,
  'agents.ts': MOUNTED_AGENTS,
  'instrumentation.ts': INSTRUMENTATION,
  'app/layout.tsx': LAYOUT,
  'app/page.tsx': `'use client'\n${PAGE}`,
  'app/api/agents/[[...path]]/route.ts': ROUTE,
  'README.md': readme(name, versions, {
    about:
      'A Next.js application with an agent. Its runs outlive connections and the server itself: kill it during a run and start it again.',
    start: ['npm run dev'],
    try: 'Open http://localhost:3000. Edit `agents.ts` while a run streams: the run continues, and the next one gets the new code.',
    files:
      '`agents.ts` has the agent and its tool, `app/api/agents` serves it, `app/page.tsx` shows it. The console is at `/api/agents/console`. For production: `npm run build` and `npm start`.',
  }),
})
