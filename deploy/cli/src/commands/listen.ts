import { createHash } from 'node:crypto'
import type { ServerEvent } from '@parley/client'
import { defined } from '@parley/shared/defined'
import { type Command, InvalidArgumentError } from 'commander'
import { integer, STATES } from '../arguments.ts'
import { openStream } from '../open-stream.ts'
import { paint, printable, say, sayJson, timeText } from '../output.ts'
import { postSigned, receiverOf, receiverOptions } from '../post-signed.ts'
import { connect } from '../profile.ts'

interface Options {
  thread?: string
  channel?: string
  events: string[]
  path: string
  secret: string
  json?: true
}

/** Events of the stream that are never posted to subscriptions. */
const PASSING = ['delta', 'presence']
/** The types of events in the event stream. */
const STREAMED = ['message', ...STATES.map((state) => `message.${state}`), 'thread', 'gap']

export function addListen(program: Command): void {
  const command = program
    .command('listen')
    .argument('<port>', 'where your receiver listens on this machine', integer({ least: 1, most: 65_535 }))
    .description('post events, signed, to a receiver on this machine: no tunnel is needed')
    .option('--thread <extId>', 'of this thread only')
    .option('--channel <extId>', 'of this channel only')
    .option('--events <types>', 'of these types only, separated by commas, such as message.*', events, [])
    .action(listen)
  for (const option of receiverOptions()) command.addOption(option)
}

async function listen(port: number, options: Options): Promise<void> {
  const receiver = receiverOf(port, options)
  const events = openStream(connect(), streamPath(options), {
    ...(options.json && { json: true }),
    onOpen: () =>
      announce(options, `Events go to ${receiver}, signed with ${options.secret}`, { ...options, receiver }),
  })
  for await (const event of events) {
    const { type, body } = delivery(event)
    if (PASSING.includes(event.event) || !isAsked(event, type, options)) continue
    const { outcome, problem } = await postSigned(receiver, { id: idOf(event), body, secret: options.secret })
    const shown = problem === undefined ? outcome : `${outcome}: ${problem}`
    announce(options, lineOf(type, event, shown), {
      type,
      ...JSON.parse(body),
      ...defined({ outcome, problem }),
    })
  }
}

function streamPath({ thread, channel }: Options): string {
  if (thread === undefined) return '/rest/events'
  const query = channel === undefined ? '' : `?${new URLSearchParams({ channel })}`
  return `/rest/threads/${encodeURIComponent(thread)}/events${query}`
}

function isAsked({ data }: ServerEvent, type: string, { channel, events }: Options): boolean {
  if (events.length > 0 && !events.some((one) => matches(type, one))) return false
  return channel === undefined || (JSON.parse(data) as { channel?: string }).channel === channel
}

const matches = (type: string, asked: string): boolean =>
  asked.endsWith('*') ? type.startsWith(asked.slice(0, -1)) : type === asked

/** Adds the events of one `--events`, which may name several between commas. */
function events(text: string, before: string[]): string[] {
  const given = text.split(',')
  const wrong = given.find((one) => !STREAMED.some((type) => matches(type, one)))
  if (wrong === undefined) return [...before, ...given]
  throw new InvalidArgumentError(
    `No event is called ${JSON.stringify(wrong)}. There are: ${STREAMED.join(', ')}; message.* is all of a message.`,
  )
}

/** As Parley's own deliveries of events are shaped: a state is an event of that name. */
function delivery({ event, data: text }: ServerEvent): { type: string; body: string } {
  const data = JSON.parse(text) as { state?: string; at?: string }
  const type = event === 'state' ? `message.${data.state}` : event
  return { type, body: JSON.stringify({ type, timestamp: data.at ?? new Date().toISOString(), data }) }
}

/** The same for an event that comes twice, so that a receiver recognises it. */
function idOf({ id, event, data }: ServerEvent): string {
  return `msg_${createHash('sha256').update(`${id} ${event} ${data}`).digest('hex').slice(0, 32)}`
}

function lineOf(type: string, { data }: ServerEvent, outcome: string): string {
  const { _id = '', at } = JSON.parse(data) as { _id?: string; at?: string }
  const shown = outcome.startsWith('2') ? paint('green', outcome) : paint('red', outcome)
  return `${paint('dim', timeText(at ?? new Date()))} ${printable(type)} ${paint('dim', printable(_id))} ${shown}`
}

function announce({ json }: Options, line: string, value: object): void {
  if (json) sayJson(value)
  else say(line)
}
