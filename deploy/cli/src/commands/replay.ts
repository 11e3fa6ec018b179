import type { Parley } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import type { Command } from 'commander'
import { integer, type Picked, pickedBy, pickOptions } from '../arguments.ts'
import { askAtTerminal } from '../ask-at-terminal.ts'
import { EXIT, Failure } from '../failure.ts'
import { paint, say, sayJson } from '../output.ts'
import { connect } from '../profile.ts'

interface Options extends Picked {
  limit: number
  yes?: true
  dryRun?: true
  json?: true
}

const REPLAYABLE = ['dead', 'failed', 'unrouted'] as const
const MAX_LIMIT = 10_000
const DEFAULT_LIMIT = 1_000
const PAGE = 200

export function addReplay(program: Command): void {
  const command = program
    .command('replay')
    .argument('[id]', 'one message; without it those that the options pick')
    .description(
      'run messages again that are dead, failed or unrouted; each goes on at the first send that did not get there',
    )
  for (const option of pickOptions()) command.addOption(option)
  command
    .option('--limit <count>', 'at most so many', integer({ least: 1, most: MAX_LIMIT }), DEFAULT_LIMIT)
    .option('--dry-run', 'only count them')
    .option('--yes', 'do not ask')
    .action(replay)
}

async function replay(id: string | undefined, options: Options): Promise<void> {
  const filter = pickedBy(options)
  const isPicked = Object.keys(filter).length > 0
  if ((id === undefined) !== isPicked)
    throw new Failure(
      'Give either one message id, or options that pick messages, such as --state dead --channel support-line.',
      EXIT.usage,
    )
  const parley = connect()
  if (id !== undefined) return replayOne(parley, id, options)
  const wrong = filter.state?.find((state) => !(REPLAYABLE as readonly string[]).includes(state))
  if (wrong !== undefined)
    throw new Failure(`What is ${wrong} is not run again; only ${REPLAYABLE.join(', ')} is.`, EXIT.usage)
  const count = await countPicked(parley, filter, options.limit)
  if (options.dryRun || count === 0) {
    if (options.json) sayJson({ picked: count, replayed: 0 })
    else
      say(
        `${count === options.limit ? 'At least ' : ''}${messagesText(count)} ${count === 1 ? 'is' : 'are'} picked; nothing was run.`,
      )
    return
  }
  if (!options.yes) await confirm(count)
  const body = { ...filter, limit: options.limit }
  const { replayed, more } = await succeeded(parley.api.POST('/rest/messages/replay', { body }))
  if (options.json) sayJson({ picked: count, replayed, more })
  else
    say(
      `${paint('green', String(replayed))} ${replayed === 1 ? 'message' : 'messages'} run again${more ? '; there are more: repeat the command' : ''}.`,
    )
}

const messagesText = (count: number): string => (count === 1 ? '1 message' : `${count} messages`)

async function replayOne(parley: Parley, id: string, { dryRun, json }: Options): Promise<void> {
  if (dryRun) {
    const { state } = await parley.messages.get(id)
    const picked = (REPLAYABLE as readonly string[]).includes(state) ? 1 : 0
    if (json) return sayJson({ picked, replayed: 0 })
    return say(picked ? `It is ${state} and would be run again.` : `It is ${state}, and is not run again.`)
  }
  await parley.messages.replay(id)
  if (json) sayJson({ picked: 1, replayed: 1 })
  else say(`${paint('green', 'run again')} ${id}\n${paint('dim', `parley why ${id}`)}`)
}

async function countPicked(parley: Parley, filter: Picked, limit: number): Promise<number> {
  let count = 0
  for await (const _message of parley.messages.list({ state: [...REPLAYABLE], ...filter, limit: PAGE })) {
    if (++count === limit) break
  }
  return count
}

async function confirm(count: number): Promise<void> {
  if (!process.stdin.isTTY) throw new Failure('There is no terminal to ask at: add --yes.', EXIT.usage)
  const reply = (await askAtTerminal(`Run ${messagesText(count)} again? [y/N] `)) ?? ''
  if (!/^y(es)?$/i.test(reply.trim())) throw new Failure('Nothing was run.', EXIT.usage)
}
