/** `holdfast doctor`: diagnoses problems and says how to fix them. */
import { toSwitch } from '../../server/config/option-values.ts'
import { defineCommand } from '../command.ts'
import { bad, type Finding } from '../doctor/finding.ts'
import { examinePort, examineStore, examineVersions } from '../doctor/machine.ts'
import { examineProxyVariables, examineServer } from '../doctor/network.ts'
import { DONE, FAILED } from '../exit-codes.ts'
import { type Style, styleOf } from '../terminal/style.ts'
import { defaultStore, defaultUrl, problemOf, type TargetValues, targetOptions } from '../target/target.ts'
import type { Environment } from '../../server/config/options.ts'

export const doctor = defineCommand({
  operands: [],
  about: `Checks versions, store, disk, port, server and network path, and reports problems with their fixes. It changes
nothing. If a run is running, it also checks that events arrive without delay. The exit code is 1 if something is wrong.`,
  examples: [
    { command: 'holdfast doctor --url https://agents.example.com', description: 'including proxies on the way' },
  ],
  options: {
    ...targetOptions,
    json: { fallback: 'false', parse: toSwitch, help: 'Print one JSON object per finding.' },
  },
  async run({ values }, io) {
    const findings = await examine(values, io.env)
    const style = styleOf(io.stdout, io.env)
    for (const finding of findings)
      io.stdout.write(values.json ? `${JSON.stringify(finding)}\n` : findingText(finding, style))
    const wrong = findings.filter(({ state }) => state === 'bad').length
    if (!values.json)
      io.stdout.write(
        wrong === 0 ? '\nNo problems found.\n' : `\n${wrong === 1 ? '1 problem' : `${wrong} problems`} found.\n`,
      )
    return wrong === 0 ? DONE : FAILED
  },
})

async function examine(values: TargetValues, env: Environment): Promise<Finding[]> {
  const url = (values.url ?? defaultUrl(env)).replace(/\/+$/, '')
  const problem = await problemOf(url)
  const runs = problem === undefined
  const store = values.store ?? (values.url === undefined ? defaultStore(env) : undefined)
  return [
    ...examineVersions(),
    ...(store === undefined ? [] : await examineStore(store, runs)),
    ...(runs ? await examineServer({ url, key: values.key }) : []),
    ...(!runs && values.url !== undefined
      ? [bad('server', `${url} is not reachable: ${problem}`, 'check the address, and that the server is running')]
      : []),
    ...(!runs && values.url === undefined ? [await examinePort(url)] : []),
    ...examineProxyVariables(env),
  ]
}

const signs = { good: ['✓', 'green'], note: ['!', 'yellow'], bad: ['✗', 'red'] } as const

function findingText({ subject, state, message, advice }: Finding, style: Style): string {
  const [sign, colour] = signs[state]
  const nextLine = advice === undefined ? '' : `${' '.repeat(13)}→ ${advice}\n`
  return `${style[colour](sign)} ${style.bold(subject.padEnd(10))} ${message}\n${nextLine}`
}
