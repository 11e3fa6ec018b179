import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { eventually, makeServiceKeys } from '@parley/local/testing/service-under-test'

test('a process with open streams ends them on SIGTERM, and then itself', async () => {
  const keys = makeServiceKeys()
  const child = spawn(process.execPath, [fileURLToPath(new URL('streaming-service.ts', import.meta.url))], {
    env: {
      ...process.env,
      ...{ NODE_ENV: 'test', HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'info' },
      SERVICE_KEY: JSON.stringify(keys.own.webhook),
      SERVICE_JWKS: JSON.stringify(keys.jwks),
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const ended = once(child, 'exit')
  const port = await eventually(() => /"port":(\d+)/.exec(output)?.[1])
  const response = await fetch(`http://127.0.0.1:${port}/stream`)
  child.kill('SIGTERM')
  expect(await response.text()).toBe(':\n\n')
  // One that can't stop is ended with 1, after 25 s.
  expect(await ended).toEqual([0, null])
})
