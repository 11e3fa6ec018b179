import { createHmac, randomBytes } from 'node:crypto'
import { defined } from '@parley/shared/defined'
import { InvalidArgumentError, Option } from 'commander'
import { networkCode } from './failure.ts'

const RECEIVER_MS = 15_000
const SECRET_BYTES = 32
const MOST_READ = 64 * 1024

interface Receiver {
  path: string
  secret: string
}

/** The options that say where a receiver on this machine is, and what is signed with. */
export function receiverOptions(): Option[] {
  return [
    new Option('--path <path>', "the receiver's path").argParser(path).default('/'),
    new Option('--secret <whsec_…>', 'what to sign with (default: a new one)')
      .argParser(secret)
      .default(`whsec_${randomBytes(SECRET_BYTES).toString('base64')}`, 'a new one'),
  ]
}

export const receiverOf = (port: number, options: Pick<Receiver, 'path'>): URL =>
  new URL(options.path, `http://127.0.0.1:${port}`)

interface Posted {
  /** The status, or the code of what went wrong. */
  outcome: string
  /** The problem, in words; undefined where the request has arrived. */
  problem?: string
  /** The first 64 Ki characters of the response's body. */
  text?: string
}

/** Posts a body, signed as Standard Webhooks has it, and waits 15 s at most for the response. */
export async function postSigned(
  receiver: URL,
  { id, body, secret }: { id: string; body: string; secret: string },
): Promise<Posted> {
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
    const text = (await response.text()).slice(0, MOST_READ)
    return { outcome: String(response.status), text, ...defined({ problem: refusal(response, receiver) }) }
  } catch (error) {
    const outcome = networkCode(error) ?? (error as Error).name
    return { outcome, ...defined({ problem: obstacle(outcome, receiver) }) }
  }
}

function refusal({ status, ok, headers }: Response, { host, pathname, search }: URL): string | undefined {
  const path = `${pathname}${search}`
  if (ok) return undefined
  if (status < 400) return `it redirects to ${headers.get('location')}, which no delivery follows`
  if (status === 401 || status === 403) return 'the receiver refuses it: does it verify with this secret?'
  if (status === 404) return `there is nothing at ${path}: --path says where the receiver is`
  if (status === 405) return `${path} takes no POST: --path says where the receiver is`
  if (status >= 500) return 'the receiver failed: its own log says why'
  return `the receiver on ${host} refuses it`
}

function obstacle(outcome: string, { host }: URL): string | undefined {
  if (outcome === 'ECONNREFUSED') return `nothing listens on ${host}`
  if (outcome === 'TimeoutError') return `${host} did not respond within ${RECEIVER_MS / 1_000} s`
  return `${host} closed the connection: does it speak HTTP, without TLS?`
}

function path(text: string): string {
  if (text.startsWith('/') && !text.startsWith('//')) return text
  throw new InvalidArgumentError('It begins with one slash, like /events.')
}

function secret(text: string): string {
  if (/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(text)) return text
  throw new InvalidArgumentError('It is whsec_ and at least 24 bytes in base64.')
}
