/** `holdfast share`: creates, lists and revokes share links of a run. */
import type { RunHandle, ShareAction, ShareInfo } from '../../client/index.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { shareActions } from '../../core/access/share-links.ts'
import { toDuration, toList, toSwitch, toText } from '../../server/config/option-values.ts'
import { defineCommand } from '../command.ts'
import { DONE } from '../exit-codes.ts'
import type { CommandIo } from '../io.ts'
import { targetOptions } from '../target/target.ts'
import { withTarget } from '../target/with-target.ts'

export const share = defineCommand({
  operands: ['RUN'],
  about: `Prints a link that gives its holder access to one run and nothing else, in a browser, an EventSource or the client,
until it expires or is revoked. The link is a secret and is not shown again.`,
  examples: [
    { command: 'holdfast share run_01k…', description: 'read-only, for one day' },
    {
      command: 'holdfast share run_01k… --can read,answer,stop --expires 7d',
      description: 'may also answer and stop the run',
    },
    { command: 'holdfast share run_01k… --list', description: 'list links that have not expired' },
    { command: 'holdfast share run_01k… --revoke 01k…', description: 'revoke the link with this id' },
  ],
  options: {
    ...targetOptions,
    can: {
      value: 'ACTIONS',
      fallback: 'read',
      parse: toActions,
      help: `Permissions of the link, separated by commas: ${shareActions.join(', ')}.`,
    },
    expires: { value: 'DURATION', fallback: '1d', parse: toDuration, help: 'Lifetime of the link, at most 365d.' },
    list: { fallback: 'false', parse: toSwitch, help: 'List the links of the run instead.' },
    revoke: { value: 'ID', parse: toText, help: 'Revoke the link with this id instead.' },
  },
  run: ({ values, operands }, io) =>
    withTarget(values, io.env, async ({ client, local }) => {
      if (local)
        throw new HoldfastError(
          'invalid_request',
          'a share link needs a running server: start one, or select one with --url',
        )
      const run = client.runs.open(operands[0]!)
      if (values.list) return list(run, io)
      if (values.revoke !== undefined) {
        await run.revokeShare(values.revoke)
        io.stdout.write(`Revoked ${values.revoke}\n`)
        return DONE
      }
      const { url, ...created } = await run.share({ can: values.can, expiresInMs: values.expires })
      io.stdout.write(`${url}\n`)
      io.stderr.write(`${line(created)}\n`)
      return DONE
    }),
})

async function list(run: RunHandle, io: CommandIo): Promise<number> {
  for (const each of await run.shares()) io.stdout.write(`${line(each)}\n`)
  return DONE
}

function line({ id, can, expiresAt }: ShareInfo): string {
  return `${id}  ${can.join(',')}  until ${expiresAt}`
}

function toActions(text: string): readonly ShareAction[] {
  const actions = toList(text)
  const wrong = actions.find((each) => !(shareActions as readonly string[]).includes(each))
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not one of ${shareActions.join(', ')}`)
  if (!actions.includes('read')) throw new Error('read is required: add it')
  return actions as ShareAction[]
}
