import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { CHECKOUT, STATE_DIRECTORY } from '@parley/local/checkout'
import { SetupError } from '@parley/local/setup-error'
import { loadSecrets } from '@parley/local/system/secrets'
import { waitUntil } from '@parley/local/wait-until'
import { z } from 'zod'
import type { GatewaySessions, Session } from '../system/workspace.ts'

const FOLLOW_MS = 60_000
const UNUSED_SESSIONS = 40
const EACH_MS = 250

const run = promisify(execFile)
const runFile = z.looseObject({ mongoUrl: z.string() })

export interface RotationResult {
  /** From the command's start until a new token was signed by another key, in milliseconds. */
  followedAfterMs: number
  forced: boolean
  /** Old tokens that were used for the first time after the rotation, and new ones. */
  oldTokens: number
  newTokens: number
}

/**
 * Rotates the signing keys with the documented command. Tokens of the old key that no gateway has seen yet,
 * and tokens of the new key as soon as there are any, go to `use` one by one.
 */
export async function rotateUnderLoad(options: {
  calls: GatewaySessions
  email: string
  use(token: string): void
}): Promise<RotationResult> {
  const { calls, email, use } = options
  const unused: Session[] = []
  for (let n = 0; n < UNUSED_SESSIONS; n++) {
    const before: Session = unused.at(-1) ?? (await calls.login(email))
    unused.push(await calls.refresh(before.refreshToken))
  }
  const newest = unused.at(-1)
  if (newest === undefined) throw new Error('no token was held back')
  const oldKey = keyOf(newest.accessToken)
  const started = performance.now()
  const forced = await rotate()
  let latest = newest
  const follow = async () => {
    latest = await calls.refresh(latest.refreshToken)
    use(latest.accessToken)
    return keyOf(latest.accessToken) !== oldKey
  }
  const followed = await waitUntil(follow, { timeoutMs: FOLLOW_MS, intervalMs: EACH_MS })
  if (!followed) throw new SetupError('Identity went on with the old key for a minute.')
  const followedAfterMs = performance.now() - started
  let newTokens = 1
  for (const { accessToken } of unused) {
    use(accessToken)
    await follow()
    newTokens++
    await delay(EACH_MS)
  }
  return { followedAfterMs, forced, oldTokens: unused.length, newTokens }
}

function keyOf(token: string): string {
  const header = Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()
  return z.object({ kid: z.string() }).parse(JSON.parse(header)).kid
}

/** Runs the command as docs/security.md has it; true when it had to be forced, which it has within 20 minutes. */
async function rotate(): Promise<boolean> {
  const { mongoUrl } = runFile.parse(JSON.parse(readFileSync(join(STATE_DIRECTORY, 'run.json'), 'utf8')))
  const { keyEncryptionKeys } = loadSecrets(join(STATE_DIRECTORY, 'secrets.json'))
  const env = {
    ...process.env,
    LOG_LEVEL: 'warn',
    MONGO_URL: mongoUrl,
    KEY_ENCRYPTION_KEYS: keyEncryptionKeys,
  }
  const command = (...args: string[]) =>
    run(process.execPath, ['services/identity/src/rotate-keys.ts', ...args], { env, cwd: CHECKOUT })
  try {
    await command()
    return false
  } catch (error) {
    if (!String((error as { stderr?: string }).stderr).includes('too recent')) throw error
    await command('--force')
    return true
  }
}
