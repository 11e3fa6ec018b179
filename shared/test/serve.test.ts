import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from '@jest/globals'
import { eventually, makeServiceKeys } from '@parley/local/testing/service-under-test'

const keys = makeServiceKeys()
const children: ReturnType<typeof spawn>[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** A script of this folder, as a process of its own. */
function start(script: string, environment: Record<string, string>) {
  const child = spawn(process.execPath, [fileURLToPath(new URL(script, import.meta.url))], {
    env: {
      ...process.env,
      ...{ NODE_ENV: 'test', HOST: '127.0.0.1', LOG_LEVEL: 'info' },
      SERVICE_JWKS: JSON.stringify(keys.jwks),
      ...environment,
    },
  })
  children.push(child)
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output.text += text
    })
  return { child, ended: once(child, 'close'), output }
}

test('a process with open streams ends them on SIGTERM, and then itself', async () => {
  const { child, ended, output } = start('streaming-service.ts', {
    PORT: '0',
    SERVICE_KEY: JSON.stringify(keys.own.webhook),
  })
  const port = await eventually(() => /"port":(\d+)/.exec(output.text)?.[1])
  const response = await fetch(`http://127.0.0.1:${port}/stream`)
  child.kill('SIGTERM')
  expect(await response.text()).toBe(':\n\n')
  // One that can't stop is ended with 1, after 25 s.
  expect(await ended).toEqual([0, null])
})

const TOGETHER = {
  PORT: '0',
  GREETING: 'all',
  WEBHOOK_GREETING: 'its own',
  GATEWAY_SERVICE_KEY: JSON.stringify(keys.own.gateway),
  WEBHOOK_SERVICE_KEY: JSON.stringify(keys.own.webhook),
  IDENTITY_SERVICE_KEY: JSON.stringify(keys.own.identity),
}

/** The lines that say `message`. */
const linesOf = (text: string, message: string): { service: string; time: string }[] =>
  text
    .split('\n')
    .filter((line) => line.includes(`"msg":"${message}"`))
    .map((line) => JSON.parse(line))

const saidBy = (text: string, message: string): string[] =>
  linesOf(text, message).map(({ service }) => service)

test('services of one process each have their port and their environment, and say once what it may use; the gateway starts last and stops first', async () => {
  const { child, ended, output } = start('services-together.ts', TOGETHER)
  await eventually(() => saidBy(output.text, 'listening').length === 3)
  expect(saidBy(output.text, 'memory of this process, at most')).toHaveLength(1)
  expect(saidBy(output.text, 'listening').at(-1)).toBe('gateway')
  const lines = output.text.split('\n').filter((line) => line.includes('"port"'))
  const ports = Object.fromEntries(lines.map((line) => [JSON.parse(line).service, JSON.parse(line).port]))
  const ask = async (name: string) => (await fetch(`http://127.0.0.1:${ports[name]}/`)).json()
  // Those behind it were ready before it listened.
  expect(await ask('webhook')).toEqual({ GREETING: 'its own', ready: true })
  expect(await ask('identity')).toEqual({ GREETING: 'all', ready: true })
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  // Each service writes its lines by itself, so that they may come in another sequence than they were made in.
  const isGateway = ({ service }: { service: string }) => service === 'gateway'
  const last = linesOf(output.text, 'stopped').find(isGateway)?.time ?? ''
  for (const { service, time } of linesOf(output.text, 'stopping').filter((line) => !isGateway(line)))
    expect([service, time >= last]).toEqual([service, true])
  expect(saidBy(output.text, 'stopped').toSorted()).toEqual(['gateway', 'identity', 'webhook'])
  expect(saidBy(output.text, 'closed').toSorted()).toEqual(['gateway', 'identity', 'webhook'])
})

test('idle services whose metrics are collected are woken fewer than 40 times a second', async () => {
  const { output } = start('services-together.ts', { ...TOGETHER, METRICS_PORT: '0' })
  await eventually(() => saidBy(output.text, 'listening').length === 3)
  const [line = '{}'] = output.text.split('\n').filter((one) => one.includes('"port"'))
  const wakeUps = async () => {
    const response = await fetch(`http://127.0.0.1:${JSON.parse(line).port}/wake-ups`)
    return Number(await response.text())
  }
  const inOneSecond = async () => {
    const before = await wakeUps()
    await pause(1_000)
    return (await wakeUps()) - before
  }
  expect(await eventually(async () => (await inOneSecond()) < 40)).toBe(true)
})

test('what one service of a process does not catch ends the process', async () => {
  const { ended, output } = start('services-together.ts', TOGETHER)
  await eventually(() => saidBy(output.text, 'listening').length === 3)
  const [line = '{}'] = output.text.split('\n').filter((one) => one.includes('"port"'))
  await fetch(`http://127.0.0.1:${JSON.parse(line).port}/throw`).catch(() => undefined)
  expect(await ended).toEqual([1, null])
  expect(output.text).toContain('nobody catches this')
})

test('a process with a wrong configuration says what is wrong with each service', async () => {
  const { GREETING: _none, ...environment } = TOGETHER
  const { ended, output } = start('services-together.ts', { ...environment, WEBHOOK_SERVICE_KEY: 'x' })
  expect(await ended).toEqual([1, null])
  expect(output.text).toMatch(/gateway: The configuration is wrong:\n {2}GREETING/)
  expect(output.text).toMatch(/webhook: The configuration is wrong:\n {2}SERVICE_KEY/)
  expect(output.text).toMatch(/identity: The configuration is wrong:\n {2}GREETING/)
})
