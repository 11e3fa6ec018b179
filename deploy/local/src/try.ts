// A workspace with something to look at, in the system that runs: npm run try
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { STATE_DIRECTORY } from './checkout.ts'
import { registerAs } from './demo/gateway-client.ts'
import { findRunningSystem, type RunningSystem, readRunFile } from './demo/running-system.ts'
import { runInForeground } from './foreground.ts'
import { SetupError } from './setup-error.ts'
import { seedShop } from './try/seed.ts'

const UPDATES = 300
const RUN_FILE = join(STATE_DIRECTORY, 'run.json')
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'

const say = (line: string) => console.log(line)

if (readRunFile(RUN_FILE) === undefined) {
  say('Parley does not run yet, so it is started first; Ctrl-C stops it.')
  await runInForeground({ together: true, whenReady: () => show().catch(endWithReason) })
} else await show().catch(endWithReason)

/** Seeds a workspace and says how to get into it. */
async function show(): Promise<void> {
  const system = await findRunningSystem(RUN_FILE)
  say('Making a workspace: a shop with an assistant, two channels and 300 messages …')
  const login = await seedWorkspace(system)
  say(loginText(system.gatewayUrl, login))
}

interface Login {
  email: string
  password: string
}

async function seedWorkspace({ gatewayUrl, simulatorUrl, modelSimulatorUrl }: RunningSystem): Promise<Login> {
  const run = Date.now().toString()
  const namespace = `verde-${Number(run).toString(36)}`
  const login = { email: `ana@${namespace}.example`, password: madePassword() }
  const gateway = await registerAs(gatewayUrl, { name: 'Ana Souza', namespace, ...login })
  await seedShop({ gateway, simulatorUrl, modelSimulatorUrl, run, updates: UPDATES, say })
  return login
}

/** The email is behind the `#`, which no browser sends, so that no log has even that; the password is in no address. */
function loginText(gatewayUrl: string, { email, password }: Login): string {
  return [
    '',
    `  Open      ${gatewayUrl}/console/login#${email}`,
    `  Password  ${password}`,
    '',
    '  It was made for this workspace only and is not stored in the clear: each',
    '  npm run try makes another. Marta waits for an answer in Conversations; a few',
    '  messages are dead, so that there is something to replay.',
    '',
  ].join('\n')
}

function madePassword(): string {
  const group = () => Array.from({ length: 4 }, () => LETTERS[randomInt(LETTERS.length)]).join('')
  return Array.from({ length: 4 }, group).join('-')
}

function endWithReason(error: unknown): void {
  if (!(error instanceof SetupError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
