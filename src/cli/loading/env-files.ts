/** `--env-file`: environment variables from files, for the configuration and for the agents' own code. */
import { existsSync, readFileSync } from 'node:fs'
import { HoldfastError, messageOf } from '../../core/model/errors.ts'
import type { Environment } from '../../server/config/options.ts'

/** The file that `holdfast dev` reads without the flag. */
const BY_DEFAULT = '.env'

/**
 * Adds the variables of the files to the process and returns the environment with them. Variables that are already set take
 * precedence, then those of later files.
 */
export function readEnvFiles(command: string, argv: readonly string[], env: Environment): Environment {
  const fromFiles: Record<string, string | undefined> = {}
  for (const path of filesFor(command, argv, env)) Object.assign(fromFiles, variablesIn(path))
  for (const [name, value] of Object.entries(fromFiles))
    if (env[name] === undefined && value !== undefined) process.env[name] = value
  return { ...fromFiles, ...env }
}

function filesFor(command: string, argv: readonly string[], env: Environment): readonly string[] {
  const { parseArgs } = process.getBuiltinModule('node:util')
  const { values } = parseArgs({
    args: [...argv],
    options: { 'env-file': { type: 'string', multiple: true } },
    strict: false,
    allowPositionals: true,
  })
  const named: readonly unknown[] = values['env-file'] ?? env['HOLDFAST_ENV_FILE']?.split('\n') ?? []
  // A flag without a value is reported with the other flags.
  if (named.length > 0) return named.filter((path) => typeof path === 'string').filter((path) => !path.startsWith('--'))
  return command === 'dev' && existsSync(BY_DEFAULT) ? [BY_DEFAULT] : []
}

function variablesIn(path: string): NodeJS.Dict<string> {
  try {
    const { parseEnv } = process.getBuiltinModule('node:util')
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new HoldfastError('invalid_request', `--env-file ${path} cannot be read: ${messageOf(cause)}`, { cause })
  }
}
