import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { CHECKOUT } from '@parley/local/checkout'
import { buildSimulator } from '@parley/local/simulator/app'
import { type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { freshDirectory } from '@parley/local/testing/test-servers'
import { SERVICES } from '@parley/shared/internal-token'

const START_MS = 300_000
const commandsIn = (page: string): string[] =>
  [...readFileSync(join(CHECKOUT, page), 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)].map(
    ([, block = '']) => block,
  )
/** A refusal ends the commands. */
const SAFE = `set -eu
curl() { command curl --fail-with-body --no-progress-meter "$@" && echo; }
`

let simulator: Awaited<ReturnType<typeof buildSimulator>>
let whatsapp: Listening
let parley: Parley
let output: string
let ended: unknown
let results: Parsed

beforeAll(async () => {
  simulator = await buildSimulator({})
  whatsapp = await listen(simulator.app)
  parley = await startParley({
    services: [...SERVICES],
    environment: { dispatcher: { ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8' } },
  })
  const folder = freshDirectory('docs')
  mkdirSync(join(folder, '.local'))
  writeFileSync(join(folder, '.local/run.json'), JSON.stringify({ simulatorUrl: whatsapp.url }))
  const setUp = commandsIn('README.md').find((block) => block.includes('/api/auth/login')) ?? ''
  const script = [setUp, ...commandsIn('docs/campaigns.md')]
    .join('\n')
    .replaceAll('http://127.0.0.1:8080', parley.url)
  const shell = spawn('bash', ['-c', SAFE + script], { cwd: folder, timeout: START_MS / 2 })
  const chunks: Buffer[] = []
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  ;[ended] = await once(shell, 'close')
  output = Buffer.concat(chunks).toString()
  results = JSON.parse(readFileSync(join(folder, '.local/results.json'), 'utf8') || 'null')
}, START_MS)
afterAll(async () => {
  await parley.close()
  await simulator.close()
  await whatsapp.close()
}, START_MS)

test('the commands of docs/campaigns.md all succeed behind the set-up of the README', () => {
  expect([ended, ended === 0 ? '' : output]).toEqual([0, ''])
})

test('they lead to an estimate, a preview of the template, and a message that is delivered', () => {
  const lines = output.split('\n').filter((line) => line.startsWith('{'))
  const printed: Parsed[] = lines.map((line) => JSON.parse(line))
  const withField = (field: string) => printed.find((one) => one[field] !== undefined)
  const leftOutBy = [{ reason: 'no_consent', recipients: 1 }]
  expect(withField('isExact')).toMatchObject({ audience: 2, recipients: 1, leftOutBy, stop: null })
  const preview = printed.find(({ attributes }) => Array.isArray(attributes))
  expect(preview?.data).toMatchObject([
    {
      name: 'João',
      variables: ['João', '20%'],
      shown: { body: expect.stringContaining('João'), fits: true },
    },
  ])
  expect(withField('message')?.message).toMatch(/^[\da-f-]{36}$/)
  expect(results).toMatchObject({ audience: 2, leftOut: 1, leftOutBy, toCome: 0, difference: 0 })
  expect(results.states.delivered + results.states.read).toBe(1)
})
