// Runs a session of the command line against a running `npm start` and writes it into docs/cli.md: `npm run docs:cli`.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { createParley, type Schemas } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { STATE_DIRECTORY } from '@parley/local/checkout'
import { findRunningSystem } from '@parley/local/demo/running-system'
import { misbehave, SIMULATED, sendConfigOf, simulatedNumber } from '@parley/local/simulator/client'
import { listen } from '@parley/local/testing/service-under-test'
import { waitUntil } from '@parley/local/wait-until'

const PARLEY = fileURLToPath(new URL('../node_modules/.bin/parley', import.meta.url))
const PAGE = new URL('cli.md', import.meta.url)
const USER = { username: `ana.${Date.now().toString(36)}@example.com`, password: crypto.randomUUID() }

const WAIT_MS = 60_000
const QUESTION = 'Where is my order?'
const TEMPLATE = { template: 'order_update', language: 'pt_BR', variables: ['João', '4711'] }

const { gatewayUrl, simulatorUrl, modelSimulatorUrl } = await findRunningSystem(
  join(STATE_DIRECTORY, 'run.json'),
).catch(({ message }: Error) => {
  console.error(message)
  process.exit(1)
})
const folder = mkdtempSync(join(tmpdir(), 'parley-session-'))
try {
  await prepareWorkspace()
  writePage(await session())
} finally {
  rmSync(folder, { recursive: true })
}

/** A workspace with an assistant and a channel, which sends to a number of the simulator's that knows its templates only. */
async function prepareWorkspace(): Promise<void> {
  const body = { name: 'Ana', email: USER.username, phone: '1', password: USER.password, namespace: 'acme' }
  await succeeded(createParley({ url: gatewayUrl }).api.POST('/api/auth/register', { body }))
  const number = simulatedNumber(simulatorUrl, String(Date.now()))
  const provider = SIMULATED.name as Schemas['Channel']['hook']
  const channel = {
    ...{ name: 'Support', description: 'Support line', hook: provider, callback: provider },
    ...{ extId: 'support-line', handlerUrl: 'native:agents/echo' },
    config: { ...sendConfigOf(number), businessAccountId: '2002' },
  }
  const { api } = createParley({ url: gatewayUrl, login: USER })
  await succeeded(api.PUT('/rest/channels/{id}', { params: { path: { id: 1 } }, body: channel }))
  const assistant = { name: 'Marta', description: '', backstory: 'A helpful assistant.' }
  await succeeded(api.PUT('/rest/assistant/{id}', { params: { path: { id: 1 } }, body: assistant }))
  const when = { lastUserText: QUESTION }
  const calls = [{ name: 'callback', arguments: { message: 'It leaves the warehouse today.' } }]
  const responses = [
    { when, calls },
    { when, text: 'I have just written to you where it is.' },
  ]
  await send('PUT', `${modelSimulatorUrl}/simulator/script`, { responses })
  await misbehave({ ...number, behaviour: { strictTemplates: true } })
}

async function send(method: string, url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const { ok, status } = await fetch(url, { method, headers, body: JSON.stringify(body) })
  if (!ok) throw new Error(`${method} ${url} was answered with ${status}`)
}

/** The commands and what they write, as a terminal shows them. */
async function session(): Promise<string> {
  const template = (name: string, phone: string) =>
    `send --channel support-line --phone ${phone} --template ${name} --language pt_BR --var João --var 4711 --wait 10`
  const commands = [
    template('order_update', '+5511988887777'),
    template('order_updat', '+5511988887778'),
    'why +5511988887778',
    'replay --state dead --channel support-line --from 1h --dry-run',
  ]
  const doctor = 'doctor --channel support-line --template order_updat --language pt_BR'
  const login = `login --url ${gatewayUrl} --user ana@example.com --password-stdin`
  const first = shown(
    `${login} < password`,
    run(login.replace('ana@example.com', USER.username), USER.password),
  )
  const ran = (command: string) => shown(command, run(command))
  return [first, ...commands.map(ran), await listened(), await chatted(), ran(doctor)].join('\n')
}

/** Listens to a thread until a message of it is sent. */
async function listened(): Promise<string> {
  const receiver = await listen((_req, res) => void res.writeHead(204).end())
  const { port } = new URL(receiver.url)
  const command = `listen ${port} --thread order-4711 --path /events`
  const program = watched(spawn(PARLEY, command.split(' '), { env: environment() }))
  try {
    await program.until('signed with')
    await createParley({ url: gatewayUrl, login: USER }).messages.send({
      ...{ extId: 'support-line', user: { phone: '+5511988887777' }, thread: { extId: 'order-4711' } },
      answer: { functions: [{ name: 'callback', args: TEMPLATE }] },
    })
    await program.until('message.sent')
    program.child.kill('SIGINT')
    const output = `${await program.ended}^C\n(exit code 130)\n`
    return shown(command, output.replace(/whsec_\S+/, 'whsec_…')).replaceAll(port, '3000')
  } finally {
    program.child.kill()
    await receiver.close()
  }
}

/** Talks to an assistant at a terminal (util-linux `script`). */
async function chatted(): Promise<string> {
  const command = 'chat Marta --type functionCall'
  const child = spawn('script', ['-qec', `'${PARLEY}' ${command}`, '/dev/null'], { env: environment() })
  const program = watched(child)
  try {
    await program.until('You talk to Marta')
    child.stdin.write(`${QUESTION}\n`)
    await program.until('I have just written')
    child.stdin.write('\n')
    return shown(command, `${onScreen(await program.ended)}\n`)
  } finally {
    child.kill()
  }
}

/** The text on the screen: a terminal's lines end with `\r\n`, and carry colours and movements of the cursor. */
function onScreen(output: string): string {
  return stripVTControlCharacters(output).replaceAll('\r', '').trimEnd()
}

/** A running program and what it has written. */
function watched(child: ChildProcess) {
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text))
  return {
    child,
    until: async (text: string) => {
      if (!(await waitUntil(() => output.includes(text), { timeoutMs: WAIT_MS, intervalMs: 20 })))
        throw new Error(`the program did not write ${JSON.stringify(text)} but: ${output}`)
    },
    ended: once(child, 'close').then(() => output),
  }
}

function run(command: string, input = ''): string {
  const options = { env: environment(), input, encoding: 'utf8' } as const
  const { stdout, stderr, status } = spawnSync(PARLEY, command.split(' '), options)
  return `${stdout}${stderr}${status === 0 ? '' : `(exit code ${status})\n`}`
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, XDG_CONFIG_HOME: folder, PARLEY_URL: '', PARLEY_TOKEN: '', FORCE_COLOR: '' }
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
