import { setTimeout as pause } from 'node:timers/promises'
import type { MessageSummary, Parley, ServerEvent } from '@parley/client'
import { ParleyError } from '@parley/client/parley-error'
import type { Command } from 'commander'
import { integer, type Picked, pickedBy, pickOptions } from '../arguments.ts'
import { isUnreachable } from '../failure.ts'
import { openStream } from '../open-stream.ts'
import { paint, paintState, printable, say, sayJson, timeText, warnOfRetry } from '../output.ts'
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
/** Statuses of a Parley without event streams. */
const HAS_NONE = [404, 405]
/** In the order in which a message passes them; beside these there are ends. */
const PASSED = ['received', 'handled', 'sending', 'sent', 'delivered', 'read']
const FIELDS = ['channel', 'thread', 'state', 'phone', 'fault']

export function addTail(program: Command): void {
  const command = program
    .command('tail')
    .description('show messages as they come, and each state that they pass')
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
  const ending = new AbortController()
  try {
    const events = options.follow
      ? await openEvents(parley, { ...options, signal: ending.signal })
      : undefined
    const first = await latest(parley, filter, (count) => count >= Math.max(options.lines, 1))
    for (const message of first.slice(0, options.lines).reverse()) show(message, options)
    for (const message of first) shown.isNew(message)
    if (events !== undefined) await followEvents(parley, { events, filter, shown, options })
    else if (options.follow) await poll(parley, { first, filter, shown, options })
  } finally {
    // An open stream would keep the program running.
    ending.abort()
  }
}

interface Following {
  filter: Picked
  shown: ReturnType<typeof createShown>
  options: Options
}

/** The workspace's events from now on until `signal`; undefined where this Parley has no event streams. */
async function openEvents(
  parley: Parley,
  { json, signal }: { json?: true | undefined; signal: AbortSignal },
): Promise<AsyncGenerator<ServerEvent> | undefined> {
  const opened = Promise.withResolvers<void>()
  const events = openStream(parley, '/rest/events', {
    ...{ json, signal, onOpen: opened.resolve },
  })
  const next = events.next()
  try {
    await Promise.race([opened.promise, next])
  } catch (error) {
    if (error instanceof ParleyError && HAS_NONE.includes(error.status)) return undefined
    throw error
  }
  return beginningWith(next, events)
}

async function* beginningWith(
  first: Promise<IteratorResult<ServerEvent>>,
  rest: AsyncGenerator<ServerEvent>,
): AsyncGenerator<ServerEvent> {
  const { value, done } = await first
  if (done !== true) yield value
  yield* rest
}

async function followEvents(
  parley: Parley,
  { events, filter, shown, options }: Following & { events: AsyncGenerator<ServerEvent> },
): Promise<void> {
  const known = createKnown(parley, options)
  for await (const { event, data } of events) {
    if (event === 'message') known.add(JSON.parse(data) as MessageSummary)
    if (event !== 'state') continue
    const passed = JSON.parse(data) as Passed
    if (!isPicked(passed, filter) || shown.isBefore(passed)) continue
    const summary = await known.get(passed._id, filter)
    if (summary === undefined || !isPickedBySummary(summary, filter)) continue
    const { reason: _reason, ...rest } = summary
    const { state, reason, at: updatedAt } = passed
    const message: MessageSummary = { ...rest, state, updatedAt, ...(reason !== undefined && { reason }) }
    if (shown.isNew(message)) show(message, options)
  }
}

/** A state that a message has passed, as its event has it. */
type Passed = Pick<MessageSummary, '_id' | 'channel' | 'thread' | 'state' | 'reason'> & { at: string }

function isPicked({ channel, thread, state }: Passed, filter: Picked): boolean {
  return (
    (filter.channel ?? channel) === channel &&
    (filter.thread ?? thread) === thread &&
    (filter.state?.includes(state) ?? true)
  )
}

function isPickedBySummary({ phone, fault }: MessageSummary, filter: Picked): boolean {
  const digits = filter.phone?.replaceAll(/\D/g, '')
  return (filter.fault ?? fault) === fault && (digits ?? phone) === phone
}

/** Summaries of the last 10,000 messages; one that is not known, or has to be as it is now, is read. */
function createKnown(parley: Parley, options: Options) {
  const summaries = new Map<string, MessageSummary>()
  const add = (message: MessageSummary) => {
    summaries.set(message._id, message)
    const [oldest] = summaries.keys()
    if (summaries.size > MAX_REMEMBERED && oldest !== undefined) summaries.delete(oldest)
    return message
  }
  return {
    add,
    async get(id: string, { fault }: Picked): Promise<MessageSummary | undefined> {
      const known = fault === undefined ? summaries.get(id) : undefined
      if (known !== undefined) return known
      const read = await orUndefined(parley.messages.get(id), options).catch(() => undefined)
      return read === undefined ? undefined : add(read)
    },
  }
}

/** As other versions of Parley are followed: they have no event streams. */
async function poll(
  parley: Parley,
  { first, filter, shown, options }: Following & { first: MessageSummary[] },
): Promise<void> {
  // The gateway's own clock: that of this machine may be wrong.
  let newestAt = Date.parse(first[0]?.receivedAt ?? '1970-01-01T00:00:00Z')
  for (;;) {
    await pause(POLL_MS)
    const messages = await orUndefined(
      latest(
        parley,
        filter,
        (count, oldest) => count >= MAX_READ || Date.parse(oldest.receivedAt) < newestAt - WATCHED_MS,
      ),
      options,
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
async function orUndefined<T>(reading: Promise<T>, options: Options): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    const passes =
      isUnreachable(error) || (error instanceof ParleyError && (error.status === 429 || error.status >= 500))
    if (!passes) throw error
    warnOfRetry(options)
    return undefined
  }
}

/** Which messages were shown in which state: the last 10,000. */
function createShown() {
  const states = new Map<string, string>()
  return {
    /** True when the message was shown in this state or a later one, as lists show it. */
    isBefore({ _id, state }: Passed): boolean {
      const [shown = ''] = states.get(_id)?.split(' ') ?? []
      return PASSED.includes(state) && PASSED.indexOf(shown) >= PASSED.indexOf(state)
    },
    isNew({ _id, state, reason = '' }: MessageSummary): boolean {
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
