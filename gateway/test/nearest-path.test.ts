import { expect, test } from '@jest/globals'
import { nearestPath } from '../src/app.ts'

test.each([
  ['/rest/chanels', '/rest/channels'],
  ['/rest/chanels/5', '/rest/channels'],
  ['/rest/Channels/5/history', '/rest/channels'],
  ['/rest/task/1', '/rest/tasks'],
  ['/api/auth/signin', '/api/auth/login'],
  ['/api/auth/log-in', '/api/auth/login'],
  ['/api/hook/whatsapp', '/api/hooks/whatsapp'],
  ['/openapi.yml', undefined],
  ['/health', undefined],
  ['/completely/else', undefined],
  [`/rest/${'x'.repeat(10_000)}`, undefined],
])('of %s the nearest known path is %s', (path, nearest) => {
  expect(/Did you mean (.*)\?/.exec(nearestPath(path))?.[1]).toBe(nearest)
})
