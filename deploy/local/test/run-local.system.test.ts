import { afterEach, describe, expect, test } from '@jest/globals'
import { lockDirectory, runLocal } from '@parley/local/run-local'
import { listen } from '@parley/local/testing/service-under-test'
import { freshDirectory } from '@parley/local/testing/test-servers'

const { PORT } = process.env
afterEach(() => {
  if (PORT === undefined) delete process.env.PORT
  else process.env.PORT = PORT
})

async function freePort(): Promise<string> {
  const { url, close } = await listen((_req, res) => res.end())
  await close()
  return new URL(url).port
}

describe('everything on one machine', () => {
  test('stops on a signal that comes the moment it is ready', async () => {
    process.env.PORT = await freePort()
    const directory = freshDirectory('run')
    const unlock = lockDirectory(directory)
    const stopping = new AbortController()
    const said: string[] = []
    const terminal = { say: (line: string) => void said.push(line), status: () => {}, end: () => {} }
    const whenReady = async () => stopping.abort()
    await runLocal({ directory, terminal, whenReady, signal: stopping.signal })
    expect(said.join('\n')).toContain(process.env.PORT)
    await expect(fetch(`http://127.0.0.1:${process.env.PORT}/health/ready`)).rejects.toThrow()
    unlock()
  })
})
