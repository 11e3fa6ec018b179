import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { ServerEvent } from '@parley/client'
import { type Command, InvalidArgumentError } from 'commander'
import { integer } from '../arguments.ts'
import { networkCode } from '../failure.ts'
import { openStream } from '../open-stream.ts'
import { paint, printable, say, sayJson, timeText } from '../output.ts'
import { connect } from '../profile.ts'

interface Options {
  thread?: string
  channel?: string
  path: string
  secret: string
  json?: true
}

/** What is no event of a subscription. */
const PASSING = ['delta', 'presence']
const RECEIVER_MS = 15_000
const SECRET_BYTES = 32

export function addListen(program: Command): void {
  program
    .command('listen')
    .argument('<port>', 'where your receiver listens on this machine', integer({ least: 1, most: 65_535 }))
    .description('post events, signed, to a receiver on this machine: no tunnel is needed')
    .option('--thread <extId>', 'of this thread only')
    .option('--channel <extId>', 'of this channel only')
    .option('--path <path>', "the receiver's path", path, '/')
    .option(
      '--secret <whsec_…>',
      'what to sign with (default: a new one)',
      secret,
      `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`,
    )
    .action(listen)
}

async function listen(port: number, options: Options): Promise<void> {
  const receiver = new URL(options.path, `http://127.0.0.1:${port}`)
  const events = openStream(connect(), streamPath(options), {
    ...(options.json && { json: true }),
    onOpen: () =>
      announce(options, `Events go to ${receiver}, signed with ${options.secret}`, { ...options, receiver }),
  })
  for await (const event of events) {
    const { type, body } = delivery(event)
    if (PASSING.includes(event.event) || !isAsked(event, options)) continue
    const outcome = await post(receiver, { id: idOf(event), body, secret: options.secret })
    announce(options, lineOf(type, event, inWords(outcome, receiver)), { type, ...JSON.parse(body), outcome })
  }
}

function streamPath({ thread, channel }: Options): string {
  if (thread === undefined) return '/rest/events'
  const query = channel === undefined ? '' : `?${new URLSearchParams({ channel })}`
  return `/rest/threads/${encodeURIComponent(thread)}/events${query}`
}

function isAsked({ data }: ServerEvent, { channel }: Options): boolean {
  return channel === undefined || (JSON.parse(data) as { channel?: string }).channel === channel
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

/** Signed as Standard Webhooks has it. */
async function post(
  receiver: URL,
  { id, body, secret }: { id: string; body: string; secret: string },
): Promise<string> {
  const timestamp = Math.floor(Date.now() / 1_000)
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  }
  try {
    const signal = AbortSignal.timeout(RECEIVER_MS)
    const response = await fetch(receiver, { method: 'POST', headers, body, signal, redirect: 'manual' })
    await response.body?.cancel()
    return String(response.status)
  } catch (error) {
    return networkCode(error) ?? (error as Error).name
  }
}

const inWords = (outcome: string, { host }: URL): string =>
  outcome === 'ECONNREFUSED' ? `nothing listens on ${host}` : outcome

function lineOf(type: string, { data }: ServerEvent, outcome: string): string {
  const { _id = '', at } = JSON.parse(data) as { _id?: string; at?: string }
  const shown = outcome.startsWith('2') ? paint('green', outcome) : paint('red', outcome)
  return `${paint('dim', timeText(at ?? new Date()))} ${printable(type)} ${paint('dim', printable(_id))} ${shown}`
}

function announce({ json }: Options, line: string, value: object): void {
  if (json) sayJson(value)
  else say(line)
}

function path(text: string): string {
  if (text.startsWith('/') && !text.startsWith('//')) return text
  throw new InvalidArgumentError('It begins with one slash, like /events.')
}

function secret(text: string): string {
  if (/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(text)) return text
  throw new InvalidArgumentError('It is whsec_ and at least 24 bytes in base64.')
}
