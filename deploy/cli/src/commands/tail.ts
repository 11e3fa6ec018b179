import { setTimeout as pause } from 'node:timers/promises'
import type { MessageSummary, Parley } from '@parley/client'
import { ParleyError } from '@parley/client/parley-error'
import type { Command } from 'commander'
import { integer, type Picked, pickedBy, pickOptions } from '../arguments.ts'
import { isUnreachable } from '../failure.ts'
import { paint, paintState, printable, say, sayJson, timeText } from '../output.ts'
import { connect } from '../profile.ts'

interface Options extends Picked {
  lines: number
  follow: boolean
  json?: true
}

const POLL_MS = 1_000
const PAGE = 200
const MAX_READ = 1_000
const MAX_LINES = 1_000
/** Messages change for a while after they came. */
const WATCHED_MS = 120_000
const MAX_REMEMBERED = 10_000
const FIELDS = ['channel', 'thread', 'state', 'phone', 'fault']

export function addTail(program: Command): void {
  const command = program
    .command('tail')
    .description('show messages as they come, and each change of state in the two minutes after that')
  for (const option of pickOptions().filter(({ long }) => FIELDS.includes(long?.slice(2) ?? '')))
    command.addOption(option)
  command
    .option(
      '--lines <count>',
      'begin with so many of the last ones',
      integer({ least: 0, most: MAX_LINES }),
      10,
    )
    .option('--no-follow', 'end after those')
    .action(tail)
}

async function tail(options: Options): Promise<void> {
  const parley = connect()
  const filter = pickedBy(options)
  const shown = createShown()
  const first = await latest(parley, filter, (count) => count >= Math.max(options.lines, 1))
  for (const message of first.slice(0, options.lines).reverse()) show(message, options)
  for (const message of first) shown.isNew(message)
  // The gateway's own clock: that of this machine may be wrong.
  let newestAt = Date.parse(first[0]?.receivedAt ?? '1970-01-01T00:00:00Z')
  while (options.follow) {
    await pause(POLL_MS)
    const messages = await orUndefined(
      latest(
        parley,
        filter,
        (count, oldest) => count >= MAX_READ || Date.parse(oldest.receivedAt) < newestAt - WATCHED_MS,
      ),
    )
    for (const message of messages?.reverse() ?? []) {
      newestAt = Math.max(newestAt, Date.parse(message.receivedAt))
      if (shown.isNew(message)) show(message, options)
    }
  }
}

/** The latest messages, newest first, until `isEnough`. */
async function latest(
  parley: Parley,
  filter: Picked,
  isEnough: (count: number, oldest: MessageSummary) => boolean,
): Promise<MessageSummary[]> {
  const found: MessageSummary[] = []
  for await (const message of parley.messages.list({ ...filter, limit: PAGE })) {
    found.push(message)
    if (isEnough(found.length, message)) break
  }
  return found
}

/** Undefined while Parley can't be reached, which it says. */
async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    const passes =
      isUnreachable(error) || (error instanceof ParleyError && (error.status === 429 || error.status >= 500))
    if (!passes) throw error
    console.error(paint('yellow', 'Parley can not be reached at the moment; trying again.', process.stderr))
    return undefined
  }
}

/** Which messages were shown in which state: the last 10,000. */
function createShown(): { isNew(message: MessageSummary): boolean } {
  const states = new Map<string, string>()
  return {
    isNew({ _id, state, reason = '' }) {
      const now = `${state} ${reason}`
      if (states.get(_id) === now) return false
      states.delete(_id)
      states.set(_id, now)
      const [oldest] = states.keys()
      if (states.size > MAX_REMEMBERED && oldest !== undefined) states.delete(oldest)
      return true
    },
  }
}

function show(message: MessageSummary, { json }: Options): void {
  if (json) sayJson(message)
  else say(messageLine(message))
}

/** A message in one line: when it changed, its state, from where to whom, and what is wrong with it. */
export function messageLine(message: MessageSummary): string {
  const { _id, state, channel, thread, phone, reason, updatedAt } = message
  return [
    paint('dim', timeText(updatedAt)),
    paintState(state),
    printable(channel),
    paint('dim', '→'),
    printable(phone === undefined ? thread : `+${phone}`),
    paint('dim', _id),
    ...(reason === undefined ? [] : [paint('red', printable(reason))]),
  ].join(' ')
}
