import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { STATE_DIRECTORY } from '@parley/local/checkout'
import { findRunningSystem } from '@parley/local/demo/running-system'
import { SetupError } from '@parley/local/setup-error'
import { ConfigError, integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { gatewayCalls } from './gateway-calls.ts'
import { rotateUnderLoad } from './key-rotation.ts'
import { liveReport } from './live-report.ts'
import { watchRegistrations } from './registration-stall.ts'
import { lastAcceptedAfter } from './revocation-delay.ts'
import { startSteadyLoad } from './steady-load.ts'

const PATHS = ['/rest/channels', '/rest/users?limit=1', '/rest/messages?limit=1', '/rest/roles']
const MAX_TOKENS = 200
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

/** Rotates keys, revokes and registers while a steady load goes on; true when all stayed within bounds. */
async function checkLive({ RATE, ROUNDS }: z.output<typeof size>): Promise<boolean> {
  const system = await findRunningSystem(join(STATE_DIRECTORY, 'run.json'))
  const pid = z.int().parse(system.processes.identity?.pid)
  const calls = gatewayCalls(system.gatewayUrl)
  const email = newEmail()
  await calls.register(email)
  const { accessToken } = await calls.login(email)
  const tokens = [accessToken]
  let turn = 0
  const send = () => {
    turn++
    const token = tokens[turn % tokens.length] ?? accessToken
    return calls.status('GET', PATHS[turn % PATHS.length] ?? '/rest/channels', { token })
  }
  console.log(`Sending ${RATE} requests/s to ${system.gatewayUrl}`)
  const load = startSteadyLoad({ rate: RATE, send })
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
  const { text, passed } = liveReport({ load: await load.stop(), rotation, revocations, stall })
  console.log(text)
  return passed
}

function newEmail(): string {
  return `live.${randomUUID()}@example.com`
}
