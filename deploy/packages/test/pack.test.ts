import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { packCli, packClient } from '../pack.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
let folder: string

/** The Node that is first in the path without those of the checkout: mostly an older one. */
const env = {
  ...process.env,
  PATH: (process.env.PATH ?? '')
    .split(delimiter)
    .filter((at) => !at.includes('node_modules'))
    .join(delimiter),
  XDG_CONFIG_HOME: join(tmpdir(), 'parley-nobody'),
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-installed-'))
  const cli = await packCli(folder)
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', cli], { cwd: folder })
  // What the client depends on, as a registry would have it.
  const client = await packClient(folder)
  const into = join(folder, 'node_modules/@parley/client')
  await mkdir(into, { recursive: true })
  await run('tar', ['-xzf', client, '-C', into, '--strip-components=1'])
  for (const name of await dependenciesOf(into))
    await cp(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name), { recursive: true })
}, 180_000)
afterAll(() => rm(folder, { recursive: true }))

/** The names of all that a package depends on, of which each may depend on more. */
async function dependenciesOf(path: string): Promise<string[]> {
  const { dependencies = {} } = JSON.parse(await readFile(join(path, 'package.json'), 'utf8')) as {
    dependencies?: Record<string, string>
  }
  const names = Object.keys(dependencies)
  const inner = await Promise.all(names.map((name) => dependenciesOf(join(ROOT, 'node_modules', name))))
  return [...new Set([...names, ...inner.flat()])]
}

test('the command line has no dependencies, and runs in an empty folder on the Node of the machine', async () => {
  const parley = join(folder, 'node_modules/.bin/parley')
  expect((await run(parley, ['--version'], { env })).stdout.trim()).toBe('0.1.0')
  expect((await run(parley, ['completion', 'bash'], { env })).stdout).toContain('doctor')
  const refused = run(parley, ['why', 'x', '--json'], { env })
  await expect(refused).rejects.toMatchObject({
    code: expect.any(Number),
    stderr: expect.stringContaining('parley login'),
  })
})

test('the client is JavaScript, which the Node of the machine runs, with the types of all operations', async () => {
  const program = `
    import { createParley } from '@parley/client'
    import { ParleyError } from '@parley/client/parley-error'
    import { verifyWebhook } from '@parley/client/webhook'
    const parley = createParley({ url: 'http://127.0.0.1:9', token: 't', repeatForMs: 0 })
    const failed = await parley.messages.get('x').catch((error) => error instanceof ParleyError ? 'refused' : 'unreachable')
    console.log(failed, typeof verifyWebhook)`
  await writeFile(join(folder, 'program.mjs'), program)
  const { stdout } = await run('node', ['program.mjs'], { cwd: folder, env })
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
