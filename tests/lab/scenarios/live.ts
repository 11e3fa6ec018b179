import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { STATE_DIRECTORY } from '@parley/local/checkout'
import { findRunningSystem } from '@parley/local/demo/running-system'
import { SetupError } from '@parley/local/setup-error'
import { ConfigError, integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { closedLoop, startOpenLoop } from '../load/loops.ts'
import { quantile } from '../report/results.ts'
import { figureRow } from '../report/table.ts'
import { type RotationResult, rotateUnderLoad } from '../strike/key-rotation.ts'
import { watchEventLoop } from '../system/event-loop-watch.ts'
import { gatewaySessions } from '../system/workspace.ts'

// Against a running `npm start`: rotates the signing keys, revokes tokens and sessions, and registers people, while a steady
// load goes on.
//   npm run test:live

const PATHS = ['/rest/channels', '/rest/users?limit=1', '/rest/messages?limit=1', '/rest/roles']
const MAX_TOKENS = 200
const MAX_IN_FLIGHT = 1_000
const BETWEEN_MS = 20
const WATCH_MS = 4_000
const REVOCATION_LIMIT_MS = 2_000
const STALL_MS = 50
const ALONE_MS = 5_000
const REGISTERING_MS = 10_000
const AT_ONCE = 8
const NANOSECONDS = 1e6
const size = z.object({
  RATE: integer({ min: 1, max: 1_000 }).default(200).describe('Authenticated requests a second'),
  ROUNDS: integer({ min: 1, max: 20 }).default(3).describe('How often a token and a session are revoked'),
})

try {
  process.exitCode = (await checkLive(parseConfig(size, process.env))) ? 0 : 1
} catch (error) {
  if (!(error instanceof SetupError || error instanceof ConfigError)) throw error
  console.error(error.message)
  process.exitCode = 1
}

/** True when all stayed within bounds. */
async function checkLive({ RATE, ROUNDS }: z.output<typeof size>): Promise<boolean> {
  const system = await findRunningSystem(join(STATE_DIRECTORY, 'run.json'))
  const pid = z.int().parse(system.processes.identity?.pid)
  const calls = gatewaySessions(system.gatewayUrl)
  const newEmail = () => `live.${randomUUID()}@example.com`
  const email = newEmail()
  await calls.register(email)
  const { accessToken } = await calls.login(email)
  const tokens = [accessToken]
  console.log(`Sending ${RATE} requests/s to ${system.gatewayUrl}`)
  const load = startCalls(RATE, (turn) => {
    const token = tokens[turn % tokens.length] ?? accessToken
    return calls.status('GET', PATHS[turn % PATHS.length] ?? '', { token })
  })
  const use = (token: string) => {
    if (tokens.length < MAX_TOKENS) tokens.push(token)
  }
  console.log('Rotating the signing keys')
  const rotation = await rotateUnderLoad({ calls, email, use })
  console.log('Revoking API tokens and sessions')
  const revocations = { tokens: [] as number[], sessions: [] as number[] }
  for (let round = 0; round < ROUNDS; round++) {
    const { _id, token } = await calls.makeApiToken(accessToken)
    revocations.tokens.push(
      await lastAcceptedAfter({
        use: () => calls.status('GET', '/rest/channels', { token }),
        revoke: () => calls.status('DELETE', `/api/auth/tokens/${_id}`, { token: accessToken }),
      }),
    )
    const session = await calls.login(email)
    const ending = { token: session.accessToken }
    revocations.sessions.push(
      await lastAcceptedAfter({
        use: () => calls.status('GET', '/rest/channels', ending),
        revoke: () => calls.status('POST', '/api/auth/logout', { ...ending, body: {} }),
      }),
    )
  }
  console.log('Registering, 8 at a time')
  const stall = await watchRegistrations({ pid, register: () => calls.register(newEmail()) })
  const { text, passed } = reportOf({ load: await load.stop(), rotation, revocations, stall })
  console.log(text)
  return passed
}

interface Call {
  /** `failed` without an answer, `unsent` with 1,000 in flight. */
  outcome: number | 'failed' | 'unsent'
  /** From when it was due. */
  ms: number
}

/** Sends `rate` calls a second; resolves at the end with what each came to, and in how many seconds they were sent. */
function startCalls(rate: number, send: (turn: number) => Promise<number>) {
  let underWay = 0
  const started = performance.now()
  const load = startOpenLoop({
    rate,
    async send(turn, from): Promise<Call> {
      if (underWay >= MAX_IN_FLIGHT) return { outcome: 'unsent', ms: Number.NaN }
      underWay++
      const outcome = await send(turn).catch(() => 'failed' as const)
      underWay--
      return { outcome, ms: performance.now() - from }
    },
  })
  return {
    async stop() {
      const sentFor = (performance.now() - started) / 1_000
      return { calls: await load.stop(), seconds: sentFor }
    },
  }
}

/**
 * Revokes something that works and goes on calling for 4 s. Resolves with when the last call that was still let through was
 * sent, in milliseconds after the revocation was sent; rejects when it did not work before.
 */
async function lastAcceptedAfter(options: {
  use(): Promise<number>
  revoke(): Promise<number>
}): Promise<number> {
  const { use, revoke } = options
  const before = await use()
  if (before !== 200) throw new Error(`what is to be revoked answers ${before} already`)
  const started = performance.now()
  let lastAccepted = 0
  const watch = async () => {
    while (performance.now() - started < WATCH_MS) {
      const sentAt = performance.now() - started
      const status = await use()
      if (status === 200) lastAccepted = sentAt
      else if (status !== 401) throw new Error(`a revoked caller got ${status}`)
      await pause(BETWEEN_MS)
    }
  }
  const [revoked] = await Promise.all([revoke(), watch()])
  if (revoked !== 200) throw new Error(`the revocation answered ${revoked}`)
  return lastAccepted
}

/** The figures as a table, and whether each is within its bound. */
function reportOf(result: {
  load: { calls: Call[]; seconds: number }
  rotation: RotationResult
  /** When the last call was let through, in milliseconds after each revocation. */
  revocations: { tokens: number[]; sessions: number[] }
  stall: StallResult
}) {
  const { load, rotation, revocations, stall } = result
  const refused = load.calls.filter(({ outcome }) => outcome !== 200)
  const answered = load.calls.filter(({ outcome }) => typeof outcome === 'number').map(({ ms }) => ms)
  const token = Math.max(...revocations.tokens)
  const session = Math.max(...revocations.sessions)
  const stalled = stall.registering.p99
  const passed =
    refused.length === 0 &&
    token < REVOCATION_LIMIT_MS &&
    session < REVOCATION_LIMIT_MS &&
    stalled <= STALL_MS
  const text = [
    '',
    figureRow('Load', ''),
    figureRow('  requests', String(load.calls.length)),
    figureRow('  a second', (load.calls.length / load.seconds).toFixed(1)),
    figureRow('  refused or failed (bound 0)', String(refused.length)),
    ...[...Map.groupBy(refused, ({ outcome }) => outcome)].map(([outcome, { length }]) =>
      figureRow(`    ${outcome}`, String(length)),
    ),
    figureRow('  latency p50', ms(quantile(answered, 0.5))),
    figureRow('  latency p99', ms(quantile(answered, 0.99))),
    figureRow(`Rotation${rotation.forced ? ' (--force: the last one is recent)' : ''}`, ''),
    figureRow('  new tokens signed by the next key after', ms(rotation.followedAfterMs)),
    figureRow('  tokens of the old key first used after it', String(rotation.oldTokens)),
    figureRow('  tokens of the new key used', String(rotation.newTokens)),
    figureRow(`Revocation, last call let through, of ${revocations.tokens.length} each`, ''),
    figureRow('  API token (bound 2,000 ms)', ms(token)),
    figureRow('  session (bound 2,000 ms)', ms(session)),
    figureRow('Delay of identity’s event loop (5 ms is none)', ''),
    figureRow('  p99 without registrations', ms(stall.alone.p99)),
    figureRow('  p99 beside 8 registrations at a time (bound 50 ms)', ms(stalled)),
    figureRow('  longest', ms(stall.registering.max)),
    figureRow('  p99 of this process meanwhile', ms(stall.own)),
    figureRow('  registrations', String(stall.registrations)),
    '',
    passed ? 'All within bounds.' : 'NOT within bounds.',
    ...(stall.own > STALL_MS / 2 ? ['The machine is too busy for the delay to say much.'] : []),
  ].join('\n')
  return { text, passed }
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`
}

/** Delays of identity's event loop, in milliseconds. */
interface StallResult {
  alone: { p99: number; max: number }
  registering: { p99: number; max: number }
  /** The p99 of this process's own event loop meanwhile: what there is of it is the machine's doing. */
  own: number
  registrations: number
}

/** Measures the delay of identity's event loop, first without registrations, then beside 8 at any time. */
async function watchRegistrations(options: { pid: number; register(): Promise<void> }): Promise<StallResult> {
  const watch = await watchEventLoop(options.pid)
  try {
    await watch.begin()
    await pause(ALONE_MS)
    const alone = await watch.read()
    await watch.begin()
    const own = monitorEventLoopDelay({ resolution: 5 })
    own.enable()
    const until = performance.now() + REGISTERING_MS
    const goesOn = () => performance.now() < until
    const registered = await closedLoop({ workers: AT_ONCE, goesOn, send: options.register })
    own.disable()
    const registering = await watch.read()
    const ownMs = own.percentile(99) / NANOSECONDS
    return { alone, registering, own: ownMs, registrations: registered.length }
  } finally {
    await watch.close()
  }
}
