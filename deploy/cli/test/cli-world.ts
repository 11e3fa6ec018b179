import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Parley as Client, createParley } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { buildModelSimulator } from '@parley/local/model-simulator/app'
import { buildSimulator } from '@parley/local/simulator/app'
import { listen } from '@parley/local/testing/service-under-test'
import { type Parley, type ParleyOptions, startParley } from '@parley/local/testing/start-parley'

/** As npm links it, which is what `npx parley` runs. */
const PARLEY = fileURLToPath(new URL('../../../node_modules/.bin/parley', import.meta.url))
const RUN_MS = 60_000

interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

interface RunOptions {
  env?: Record<string, string>
  input?: string
  /** After so many milliseconds (60,000) it is killed: its code is null then. */
  timeoutMs?: number
}

/** The command line of somebody with a configuration folder of their own. */
export interface Somebody {
  folder: string
  run(args: string[], options?: RunOptions): Promise<Ran>
  /** With a redirection or a pipe after it. */
  piped(args: string[], rest: string): Promise<Ran>
  /** Its output, line by line of JSON. */
  json(args: string[], options?: RunOptions): Promise<Record<string, unknown>[]>
  /** At a terminal (util-linux `script`): each reply is typed when its question is there. */
  atTerminal(
    args: string[],
    replies?: [question: string, reply: string][],
    options?: RunOptions,
  ): Promise<{ code: number | null; screen: string }>
  start(args: string[]): ChildProcess
  remove(): void
}

export function somebody(environment: Record<string, string> = {}): Somebody {
  const folder = mkdtempSync(join(tmpdir(), 'parley-cli-'))
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, XDG_CONFIG_HOME: folder, TERM: 'xterm-256color', ...environment }
  const start = (command: string, args: string[], options: RunOptions = {}) =>
    spawn(command, args, {
      ...{ env: { ...env, ...options.env }, cwd: folder },
      timeout: options.timeoutMs ?? RUN_MS,
    })
  const run = (args: string[], options?: RunOptions) => finish(PARLEY, args, options)
  const finish = async (command: string, args: string[], options: RunOptions = {}): Promise<Ran> => {
    const child = start(command, args, options)
    child.stdin.end(options.input ?? '')
    const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)]
    const code = await exitOf(child)
    return { code, stdout: await stdout, stderr: await stderr }
  }
  return {
    folder,
    run,
    piped: (args, rest) => finish('bash', ['-c', `'${[PARLEY, ...args].join("' '")}' ${rest}`]),
    async json(args, options) {
      const { stdout, stderr } = await run([...args, '--json'], options)
      if (stdout === '') throw new Error(`nothing was written: ${stderr}`)
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
    },
    async atTerminal(args, replies = [], options = {}) {
      const command = [PARLEY, ...args].map((each) => `'${each}'`).join(' ')
      const child = start('script', ['-qec', command, '/dev/null'], options)
      let screen = ''
      const waiting = [...replies]
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        screen += text
        const [next] = waiting
        if (next === undefined || !screen.includes(next[0])) return
        waiting.shift()
        child.stdin.write(`${next[1]}\n`)
      })
      const code = await exitOf(child)
      return { code, screen }
    },
    start: (args) => start(PARLEY, args),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const part of stream.setEncoding('utf8')) text += part
  return text
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
}

export const USER = { username: 'ana@example.com', password: 'correct horse battery staple' }

/** A whole system with a simulator, where channel `support-line` sends to it, and somebody who may use it. */
export interface CliWorld {
  system: Parley
  client: Client
  simulatorUrl: string
  close(): Promise<void>
}

export async function startCliWorld(options: Pick<ParleyOptions, 'services'> = {}): Promise<CliWorld> {
  const simulator = await buildSimulator({})
  const provider = await listen(simulator.app)
  const model = await listen(buildModelSimulator())
  const system = await startParley({
    ...options,
    environment: {
      dispatcher: {
        ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8',
        ...{
          MODEL_PROVIDER: 'openai-compatible',
          MODEL_NAME: 'simulator',
          MODEL_BASE_URL: `${model.url}/v1`,
        },
      },
    },
  })
  const body = { name: 'Ana', email: USER.username, phone: '1', password: USER.password, namespace: 'acme' }
  await succeeded(createParley({ url: system.url }).api.POST('/api/auth/register', { body }))
  const client = createParley({ url: system.url, login: USER })
  const channel = {
    ...({
      name: 'Support',
      description: '',
      extId: 'support-line',
      hook: 'whatsapp',
      callback: 'whatsapp',
    } as const),
    handlerUrl: 'native:agents/echo',
    config: {
      ...{ phoneNumberId: '1001', accessToken: 'secret-token', businessAccountId: '2002', verifyToken: 'v' },
      ...{ appSecret: 's', apiUrl: `${provider.url}/v23.0` },
    },
  }
  await succeeded(client.api.PUT('/rest/channels/{id}', { params: { path: { id: 1 } }, body: channel }))
  return {
    system,
    client,
    simulatorUrl: provider.url,
    async close() {
      await system.close()
      await provider.close()
      await model.close()
      await simulator.close()
    },
  }
}

/** Somebody who has signed in as the user. */
export async function signedIn({ system }: CliWorld): Promise<Somebody> {
  const person = somebody()
  const args = ['login', '--url', system.url, '--user', USER.username, '--password-stdin']
  await person.run(args, { input: USER.password })
  return person
}
