// Runs a session of the command line against a running `npm start` and writes it into docs/cli.md: `npm run docs:cli`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createParley } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { STATE_DIRECTORY } from '@parley/local/checkout'
import { findRunningSystem } from '@parley/local/demo/running-system'

const PARLEY = fileURLToPath(new URL('../node_modules/.bin/parley', import.meta.url))
const PAGE = new URL('cli.md', import.meta.url)
const USER = { username: `ana.${Date.now().toString(36)}@example.com`, password: crypto.randomUUID() }

const { gatewayUrl, simulatorUrl } = await findRunningSystem(join(STATE_DIRECTORY, 'run.json'))
const folder = mkdtempSync(join(tmpdir(), 'parley-session-'))
try {
  await prepareWorkspace()
  writePage(session())
} finally {
  rmSync(folder, { recursive: true })
}

/** A workspace with one channel, which sends to a number of the simulator's that knows its templates only. */
async function prepareWorkspace(): Promise<void> {
  const body = { name: 'Ana', email: USER.username, phone: '1', password: USER.password, namespace: 'acme' }
  await succeeded(createParley({ url: gatewayUrl }).api.POST('/api/auth/register', { body }))
  const phoneNumberId = String(Date.now())
  const channel = {
    ...({ name: 'Support', description: 'Support line', hook: 'whatsapp', callback: 'whatsapp' } as const),
    ...{ extId: 'support-line', handlerUrl: 'native:agents/echo' },
    config: {
      phoneNumberId,
      accessToken: 'demo',
      businessAccountId: '2002',
      apiUrl: `${simulatorUrl}/v23.0`,
    },
  }
  const { api } = createParley({ url: gatewayUrl, login: USER })
  await succeeded(api.PUT('/rest/channels/{id}', { params: { path: { id: 1 } }, body: channel }))
  await fetch(`${simulatorUrl}/simulator/behaviour`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ phoneNumberId, strictTemplates: true }),
  })
}

/** The commands and what they write, as a terminal shows them. */
function session(): string {
  const template = (name: string, phone: string) =>
    `send --channel support-line --phone ${phone} --template ${name} --language pt_BR --var João --var 4711 --wait 10`
  const commands = [
    template('order_update', '+5511988887777'),
    template('order_updat', '+5511988887778'),
    'why +5511988887778',
    'replay --state dead --channel support-line --from 1h --dry-run',
    'tail --no-follow',
    'check',
    'doctor --channel support-line --template order_updat --language pt_BR',
    'why +5511900000000',
  ]
  const login = `login --url ${gatewayUrl} --user ana@example.com --password-stdin`
  const first = shown(
    `${login} < password`,
    run(login.replace('ana@example.com', USER.username), USER.password),
  )
  return [first, ...commands.map((command) => shown(command, run(command)))].join('\n')
}

function run(command: string, input = ''): string {
  const env = { ...process.env, XDG_CONFIG_HOME: folder, PARLEY_URL: '', PARLEY_TOKEN: '', FORCE_COLOR: '' }
  const { stdout, stderr, status } = spawnSync(PARLEY, command.split(' '), { env, input, encoding: 'utf8' })
  return `${stdout}${stderr}${status === 0 ? '' : `(exit code ${status})\n`}`
}

function shown(command: string, output: string): string {
  return `$ npx parley ${command}\n${output}`
    .replaceAll(USER.username, 'ana@example.com')
    .replaceAll(folder, '~/.config')
}

function writePage(text: string): void {
  const page = readFileSync(PAGE, 'utf8')
  const [before = '', rest = ''] = page.split('<!-- session -->')
  const [, after = ''] = rest.split('<!-- end of session -->')
  writeFileSync(
    PAGE,
    `${before}<!-- session -->\n\n\`\`\`console\n${text}\`\`\`\n\n<!-- end of session -->${after}`,
  )
}
