import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { CHECKOUT } from '@parley/local/checkout'
import { eventually, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { freshDirectory } from '@parley/local/testing/test-servers'
import { type AssistantSystem, startAssistantSystem } from '../e2e/assistant-system.ts'

const page = readFileSync(join(CHECKOUT, 'docs/assistants.md'), 'utf8')
/** A refusal ends the commands, and they end what they started, however they end. */
const SAFE = `set -eu
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
curl() { command curl --fail-with-body --no-progress-meter "$@" && echo; }
`

let system: AssistantSystem
let output: string
let ended: unknown

beforeAll(async () => {
  system = await startAssistantSystem()
  const folder = freshDirectory('docs')
  mkdirSync(join(folder, '.local'))
  symlinkSync(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, '.local/run.json'), JSON.stringify({ simulatorUrl: system.simulatorUrl }))
  const commands = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)
  const script = commands
    .join('\n')
    .replaceAll('http://127.0.0.1:8080', system.parley.url)
    .replaceAll('8090', String(await freePort()))
    .replaceAll('8091', String(await freePort()))
  const shell = spawn('bash', ['-c', SAFE + script], { cwd: folder })
  const chunks: Buffer[] = []
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  ;[ended] = await once(shell, 'close')
  output = Buffer.concat(chunks).toString()
})
afterAll(() => system.close(), 60_000)

async function freePort(): Promise<number> {
  const taken = await listen(() => {})
  await taken.close()
  return Number(new URL(taken.url).port)
}

test('the commands of docs/assistants.md all succeed', () => {
  expect([ended, ended === 0 ? '' : output]).toEqual([0, ''])
})

test('they lead to an assistant that calls its tool when it is tried, and shows its prompt', () => {
  // A response that takes long is sent blanks beforehand.
  const lines = output.split('\n').filter((line) => line.trimStart().startsWith('{'))
  const parsed: Parsed[] = lines.map((line) => JSON.parse(line))
  const trial = parsed.find(({ turns }) => turns !== undefined)
  expect(trial).toMatchObject({
    state: 'done',
    turns: [{ calls: [{ tool: 'orderState', result: { status: 200 } }] }, { calls: [] }],
  })
  expect(parsed.find((one) => one.system !== undefined).system).toContain('You are Bia.')
})

test('they lead to an assistant that calls a tool of an MCP server, whose connection is tested', () => {
  const lines = output.split('\n').filter((line) => line.trimStart().startsWith('{'))
  const parsed: Parsed[] = lines.map((line) => JSON.parse(line))
  expect(parsed.find(({ tools, ms }) => tools !== undefined && ms !== undefined)).toMatchObject({
    state: 'working',
    tools: expect.arrayContaining([expect.objectContaining({ name: 'echo' })]),
  })
  expect(parsed.findLast(({ turns }) => turns !== undefined)).toMatchObject({
    state: 'done',
    turns: [{ calls: [{ tool: 'echo', result: { state: 'done', text: 'Echo: hello' } }] }, {}],
  })
})

test('they lead to an answer that reaches the person who writes', async () => {
  const texts = await eventually(async () => {
    const response = await fetch(`${system.simulatorUrl}/simulator/sends?phoneNumberId=2001`)
    const { data } = (await response.json()) as Parsed
    return data.length > 0 ? data.map(({ text }: Parsed) => text) : undefined
  })
  expect(texts).toEqual([expect.stringMatching(/^The tools said: .*on its way/)])
})

test('the settings of every provider are shown, and stored with their keys sealed', async () => {
  for (const provider of ['openai', 'anthropic', 'google', 'openai-compatible'])
    expect(output).toContain(`"provider":"${provider}"`)
  const stored = await system.parley.database('configuration').collection('configs').find().toArray()
  expect(stored.map(({ doc }) => doc.name)).toEqual(expect.arrayContaining(['model', 'credentials']))
  expect(JSON.stringify(stored)).not.toMatch(/"(sk-|AIza)/)
})
