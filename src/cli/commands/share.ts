/** `holdfast share`: makes, lists and revokes share links of a run. */
import type { RunHandle, ShareAction, ShareInfo } from '../../client/index.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { shareActions } from '../../core/access/share-links.ts'
import { toDuration, toList, toSwitch, toText } from '../../server/option-values.ts'
import { defineCommand } from '../command.ts'
import { DONE } from '../exit-codes.ts'
import type { CommandIo } from '../io.ts'
import { targetOptions } from '../target.ts'
import { withTarget } from '../with-target.ts'

export const share = defineCommand({
  operands: ['RUN'],
  about: `Prints a link that gives access to one run, and to nothing else, for whoever has it. It works in a browser, in an EventSource and in the
client, until it expires or is revoked. It cannot be shown again: keep it secret.`,
  examples: [
    { line: 'holdfast share run_01k…', does: 'to read the run, for one day' },
    { line: 'holdfast share run_01k… --can read,answer,stop --expires 7d', does: 'to answer and stop it too' },
    { line: 'holdfast share run_01k… --list', does: 'the links that have not expired' },
    { line: 'holdfast share run_01k… --revoke 01k…', does: 'ends the link with this id' },
  ],
  options: {
    ...targetOptions,
    can: {
      value: 'ACTIONS',
      fallback: 'read',
      parse: toActions,
      help: `What the link allows, separated by commas: ${shareActions.join(', ')}.`,
    },
    expires: { value: 'DURATION', fallback: '1d', parse: toDuration, help: 'How long the link lasts; at most 365d.' },
    list: { fallback: 'false', parse: toSwitch, help: 'List the links of the run instead.' },
    revoke: { value: 'ID', parse: toText, help: 'Revoke the link with this id instead.' },
  },
  run: ({ values, operands }, io) =>
    withTarget(values, io.env, async ({ client, local }) => {
      if (local)
        throw new HoldfastError(
          'invalid_request',
          'a link leads to a server, and none answers: start it, or give --url',
        )
      const run = client.runs.open(operands[0]!)
      if (values.list) return list(run, io)
      if (values.revoke !== undefined) {
        await run.revokeShare(values.revoke)
        io.stdout.write(`${values.revoke} is revoked\n`)
        return DONE
      }
      const { url, ...made } = await run.share({ can: values.can, expiresIn: values.expires })
      io.stdout.write(`${url}\n`)
      io.stderr.write(`${line(made)}\n`)
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
  const given = toList(text)
  const wrong = given.find((each) => !(shareActions as readonly string[]).includes(each))
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not one of ${shareActions.join(', ')}`)
  if (!given.includes('read')) throw new Error('a link always allows to read: add read')
  return given as ShareAction[]
}
