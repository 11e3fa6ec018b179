import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { CHECKOUT } from '@parley/local/checkout'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { freshDirectory } from '@parley/local/testing/test-servers'
import { type RunningParley, startProcesses } from '../e2e/running-parley.ts'

const page = readFileSync(join(CHECKOUT, 'README.md'), 'utf8')
const [, section = ''] = /^## Five minutes with curl$(.*?)^## /ms.exec(page) ?? []
const script = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block).join('\n')
const [, printed = ''] = /^```\n(.*?)^```$/ms.exec(section.replaceAll(/^```sh\n.*?^```$/gms, '')) ?? []

let parley: RunningParley
let folder: string
beforeAll(async () => {
  parley = await startProcesses()
  folder = freshDirectory('readme')
  mkdirSync(join(folder, '.local'))
  symlinkSync(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, '.local/run.json'), JSON.stringify(parley.system))
}, 300_000)
afterAll(() => parley.stop(), 60_000)

/** Runs the commands of the page as they stand there; resolves with what they print. */
async function follow(): Promise<string> {
  const own = script.replaceAll('http://127.0.0.1:8080', parley.system.gatewayUrl)
  const shell = spawn('bash', ['-c', `set -eu\n${own}`], { cwd: folder })
  const chunks: Buffer[] = []
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [code] = await once(shell, 'close')
  const output = Buffer.concat(chunks).toString()
  expect([code, code === 0 ? '' : output]).toEqual([0, ''])
  return output
}

/** Returns the fields of a printed line, without those of one run. */
const stated = (line: string): Record<string, string> =>
  Object.fromEntries(
    [...line.matchAll(/"(channel|thread|state|to|type|template)":"([^"]*)"/g)].map(
      ([, key = '', value = '']) => [key, value],
    ),
  )

test('the commands of the first page do what stands there, also the second time', async () => {
  const expected = printed.trim().split('\n').map(stated)
  expect(expected).toHaveLength(2)
  expect(await follow()).toContain('registered: 200')
  const output = await follow()
  expect(output).toContain('registered: 409')
  const values: Parsed[] = output
    .replaceAll('}{', '}\n{')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
  const [message, sends] = [values.at(-2), values.at(-1)]
  expect(message).toMatchObject(expected[0] ?? {})
  expect(sends?.data.at(-1)).toMatchObject(expected[1] ?? {})
})
