import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { packCli } from '../pack.ts'

const run = promisify(execFile)
let folder: string
/** The installed command. */
let parley: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-installed-'))
  const file = await packCli(folder)
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', file], { cwd: folder })
  parley = join(folder, 'node_modules/.bin/parley')
}, 120_000)
afterAll(() => rm(folder, { recursive: true }))

/** The Node that is first in the path without those of the checkout: mostly an older one. */
const env = {
  ...process.env,
  PATH: (process.env.PATH ?? '')
    .split(delimiter)
    .filter((at) => !at.includes('node_modules'))
    .join(delimiter),
  XDG_CONFIG_HOME: join(tmpdir(), 'parley-nobody'),
}

test('the package has no dependencies, and runs in an empty folder on the Node of the machine', async () => {
  expect(await readdir(join(folder, 'node_modules/@parley'))).toEqual(['cli'])
  expect((await run(parley, ['--version'], { env })).stdout.trim()).toBe('0.1.0')
  expect((await run(parley, ['completion', 'bash'], { env })).stdout).toContain('doctor')
})

test('the installed command says what is missing, with its exit code', async () => {
  const refused = run(parley, ['why', 'x', '--json'], { env })
  await expect(refused).rejects.toMatchObject({
    code: expect.any(Number),
    stderr: expect.stringContaining('parley login'),
  })
})
