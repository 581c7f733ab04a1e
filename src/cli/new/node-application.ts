/** A template whose server is one file that Node runs: agents at /api/agents. */
import type { Template } from './project.ts'
import { curl, GITIGNORE, MOUNTED_AGENTS, NODE_TSCONFIG, packageJson, readme } from './shared-files.ts'

interface NodeApplication {
  /** With its article: `An Express application`. */
  readonly what: string
  readonly server: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

export function nodeApplication({ what, server, ...packages }: NodeApplication): Template {
  return (name, versions) => ({
    'package.json': packageJson(name, versions, { scripts: { start: 'node server.ts', check: 'tsc' }, ...packages }),
    'tsconfig.json': NODE_TSCONFIG,
    '.gitignore': GITIGNORE,
    'agents.ts': MOUNTED_AGENTS,
    'server.ts': server,
    'README.md': readme(name, versions, {
      about: `${what} with an agent. Its runs outlive connections and the server itself: kill it during a run and start it again.`,
      start: ['npm start'],
      try: curl('localhost:3000/api/agents'),
      files:
        '`agents.ts` has the agent and its tool, `server.ts` the application. The console is at `/api/agents/console`. `npm run check` checks types.',
    }),
  })
}
