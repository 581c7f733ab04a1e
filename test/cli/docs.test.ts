/** docs/cli.md is generated from the commands, and the examples of the commands are valid. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { cliPage, cliPagePath } from '../../scripts/gen-cli-doc.ts'
import { catalogue } from '../../src/cli/catalogue.ts'
import { type Command, commandHelp } from '../../src/cli/command.ts'
import { exitTable } from '../../src/cli/exit-codes.ts'
import { parseOptions } from '../../src/server/config/options.ts'

test('docs/cli.md is up to date with node scripts/gen-cli-doc.ts', async () => {
  expect(readFileSync(cliPagePath, 'utf8')).toBe(await cliPage())
})

test('every exit code has one meaning', () => {
  const codes = Object.values(exitTable).map(({ code }) => code)
  expect(new Set(codes).size).toBe(codes.length)
})

/** The words of a line, with quotes, up to a pipe or a redirection. */
function words(line: string): string[] {
  const call = /holdfast ([^|)<>]*)/.exec(line)![1]!
  return [...call.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare]) => double ?? single ?? bare!)
}

describe.each(Object.keys(catalogue))('holdfast %s', (name) => {
  const load = (): Promise<Command> => catalogue[name]!.load()

  test('--help fits a terminal and has examples', async () => {
    const command = await load()
    const help = commandHelp(name, command)
    expect(help).toMatch(new RegExp(`^Usage: holdfast ${name}`))
    expect(command.examples.length).toBeGreaterThan(0)
    expect(command.about.length).toBeGreaterThan(60)
    for (const line of command.about.split('\n')) expect(line.length).toBeLessThanOrEqual(140)
  })

  test('--help shows examples that the command accepts', async () => {
    const command = await load()
    for (const { command: line } of command.examples) {
      const [called, ...argv] = words(line)
      expect(Object.keys(catalogue)).toContain(called)
      const { options, operands } = await catalogue[called!]!.load()
      const { positionals } = parseOptions(options, argv, {})
      const needed = operands.filter((operand) => !operand.startsWith('[')).length
      expect(positionals.length, line).toBeGreaterThanOrEqual(needed)
      expect(positionals.length, line).toBeLessThanOrEqual(operands.length)
    }
  })
})
