import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { startNativeServer } from '@parley/local/servers/native-server'
import { freshDirectory } from '@parley/local/testing/test-servers'

test('a server that hangs while it logs its crash counts as ended, and can be started again', async () => {
  const directory = freshDirectory('hangs')
  const server = await startNativeServer({
    ...{ name: 'Hanging', url: '', source: '', directory, logFile: join(directory, 'log'), env: {} },
    ...{ command: 'bash', args: ['-c', 'echo "it crashes"; exec sleep 600'], crashText: 'it crashes' },
    isReady: async () => true,
    signal: new AbortController().signal,
  })
  const first = server.pid
  await server.exited
  await server.restart()
  expect(server.pid).not.toBe(first)
  await server.stop()
})
