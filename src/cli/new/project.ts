/** Template for `holdfast new`: one agent with one tool, which needs no key and no network. */

/** Version ranges of its dependencies. */
export interface ProjectVersions {
  readonly holdfast: string
  readonly ai: string
  readonly zod: string
  /** Minimum Node version. */
  readonly node: string
}

/** File contents by path. */
export function projectFiles(name: string, versions: ProjectVersions): Readonly<Record<string, string>> {
  return {
    'package.json': json({
      name,
      private: true,
      type: 'module',
      scripts: { start: 'holdfast serve agents.ts', check: 'tsc' },
      dependencies: { ai: versions.ai, holdfast: versions.holdfast, zod: versions.zod },
      devDependencies: { '@types/node': '^24.0.0', typescript: '^7.0.0' },
      engines: { node: versions.node },
    }),
    'tsconfig.json': json({
      compilerOptions: {
        module: 'nodenext',
        target: 'es2024',
        strict: true,
        erasableSyntaxOnly: true,
        allowImportingTsExtensions: true,
        skipLibCheck: true,
        noEmit: true,
        types: ['node'],
      },
      include: ['*.ts'],
    }),
    '.gitignore': 'node_modules/\n.holdfast/\n',
    'agents.ts': AGENTS,
    'README.md': readme(name, versions.node),
  }
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

const AGENTS = `import { tool } from 'ai'
import { agent, idempotent, scriptedModel } from 'holdfast/ai'
import { z } from 'zod'

/** \`idempotent\`: after a crash, the tool is called again without asking. */
const time = idempotent(
  tool({
    description: 'The time of day in a time zone, such as Europe/Lisbon.',
    inputSchema: z.object({ zone: z.string() }),
    execute: ({ zone }) => new Date().toLocaleTimeString('en-GB', { timeZone: zone, timeStyle: 'short' }),
  }),
)

export const assistant = agent({
  id: 'assistant',
  instructions: 'Say what time it is where you are asked for it.',
  tools: { time },
  // Any AI SDK model works here, see README.md. This one needs no key and no network.
  model: scriptedModel({
    wordsPerSecond: 10,
    script({ turn, text, results }) {
      const zone = /[A-Z]\\w+\\/\\w+/.exec(text)?.[0] ?? 'UTC'
      if (turn === 1) return [{ type: 'tool', name: 'time', input: { zone } }]
      return \`It is \${String(results[0]?.output)} in \${zone}.\`
    },
  }),
})
`

function readme(name: string, node: string): string {
  return `# ${name}

An agent with a tool, served by Holdfast: every run is a durable log, which outlives connections and the server itself.

Needs Node ${node.replace('>=', '')} or newer.

\`\`\`sh
npm install
npm start
\`\`\`

Ask it something, from another terminal:

\`\`\`sh
curl -N localhost:7777/runs -H 'accept: text/event-stream' \\
  --json '{"component":"assistant","input":"What time is it in Asia/Tokyo?"}'
\`\`\`

\`agents.ts\` has the agent and its tool. \`npm run check\` checks its types; there is no build step.

## A real model

Install a provider of the [AI SDK](https://ai-sdk.dev), such as \`npm install @ai-sdk/openai\`, set its key
(\`OPENAI_API_KEY\`), and give the agent one of its models:

\`\`\`ts
import { openai } from '@ai-sdk/openai'

export const assistant = agent({
  id: 'assistant',
  instructions: 'Say what time it is where you are asked for it.',
  tools: { time },
  model: openai('gpt-5.4-mini'),
})
\`\`\`
`
}
