import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { succeeded } from '@parley/client/parley-error'
import { eventually } from '@parley/local/testing/service-under-test'
import { type CliWorld, startCliWorld, USER } from '../../cli/test/cli-world.ts'
import { packCli, packClient } from '../pack.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
let folder: string

let world: CliWorld

/** Those that docs/client.md and docs/cli.md promise, by their major versions, as npm has them for this machine. */
const NODES = ['20', '22']
const PLATFORM = `${process.platform === 'darwin' && process.arch === 'arm64' ? 'bin-' : ''}${process.platform}-${process.arch}`
const nodeOf = (major: string) => join(folder, `node_modules/node${major}/bin/node`)

const env = { ...process.env, XDG_CONFIG_HOME: join(tmpdir(), 'parley-nobody') }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-installed-'))
  await writeFile(join(folder, 'package.json'), '{}')
  const packages = [await packCli(folder), await packClient(folder)]
  const nodes = NODES.map((major) => `node${major}@npm:node-${PLATFORM}@${major}`)
  const options = ['--prefer-offline', '--no-audit', '--no-fund']
  await run('npm', ['install', ...options, ...packages, ...nodes], { cwd: folder })
  world = await startCliWorld()
}, 600_000)
afterAll(async () => {
  await rm(folder, { recursive: true })
  await world.close()
}, 60_000)

test.each(NODES)(
  'the command line has no dependencies, and runs in an empty folder on Node %s',
  async (major) => {
    const parley = (...args: string[]) =>
      run(nodeOf(major), [join(folder, 'node_modules/.bin/parley'), ...args], { env })
    expect((await parley('--version')).stdout.trim()).toBe('0.1.0')
    expect((await parley('completion', 'bash')).stdout).toContain('doctor')
    await expect(parley('why', 'x', '--json')).rejects.toMatchObject({
      code: expect.any(Number),
      stderr: expect.stringContaining('parley login'),
    })
  },
)

test.each(NODES)(
  'the client is JavaScript, and the lines of docs/client.md send a message on Node %s',
  async (major) => {
    const page = await readFile(join(ROOT, 'docs/client.md'), 'utf8')
    const [, lines = ''] = /^```ts\n(.*?)^```$/ms.exec(page) ?? []
    const program = lines.replace('https://parley.example.com', world.system.url)
    await writeFile(join(folder, 'docs.mjs'), `${program}\nconsole.log(id)`)
    const body = { username: USER.username, password: USER.password }
    const { accessToken } = await succeeded(world.client.api.POST('/api/auth/login', { body }))
    const { stdout } = await run(nodeOf(major), ['docs.mjs'], {
      cwd: folder,
      env: { ...env, PARLEY_TOKEN: accessToken },
    })
    const sent = await eventually(() => world.client.messages.get(stdout.trim()).catch(() => undefined))
    expect(sent.thread).toBe('order-4711')
    expect(JSON.stringify(sent.message)).toContain('"message":"On its way."')
  },
)

test('the client has the types of all operations, and throws what it promises', async () => {
  const program = `
    import { createParley } from '@parley/client'
    import { ParleyError } from '@parley/client/parley-error'
    import { verifyWebhook } from '@parley/client/webhook'
    const parley = createParley({ url: 'http://127.0.0.1:9', token: 't', repeatForMs: 0 })
    const failed = await parley.messages.get('x').catch((error) => error instanceof ParleyError ? 'refused' : 'unreachable')
    console.log(failed, typeof verifyWebhook)`
  await writeFile(join(folder, 'program.mjs'), program)
  const { stdout } = await run(nodeOf('20'), ['program.mjs'], { cwd: folder, env })
  expect(stdout.trim()).toBe('unreachable function')
  expect(await readdir(join(folder, 'node_modules/@parley'))).toEqual(['cli', 'client'])

  const typed = `

    import { createParley } from '@parley/client'

    const parley = createParley({ url: 'http://127.0.0.1:9', token: 't' })
    const { id } = await parley.messages.send({ extId: 'line', user: {}, thread: {}, answer: { message: 'x' } })
    export const wrong: number = id`
  await writeFile(join(folder, 'program.mts'), typed)
  const options = [
    '--ignoreConfig',
    '--noEmit',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--strict',
    '--lib',
    'esnext,dom',
    '--types',
    '',
  ]
  const checked = run(join(ROOT, 'node_modules/.bin/tsc'), [...options, 'program.mts'], { cwd: folder })
  await expect(checked).rejects.toMatchObject({
    stdout: expect.stringMatching(/^program\.mts.*TS2322: Type 'string'[^\n]*\n$/),
  })
})
