import { expect, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import { gatewayUnderTest } from './gateway-system.ts'

const gateway = gatewayUnderTest({ backend: 'configuration' })

test('requests of one workspace that hang at a service, by whatever tokens, leave room for others', async () => {
  const { system } = gateway
  const { accessToken: eve } = await system.register()
  const body = { name: 'second', role: 'WORKSPACE_ADMIN' }
  const { token } = (await system.call('POST', '/api/auth/tokens', { token: eve, body })).json
  const hanging: (() => void)[] = []
  gateway.backend.respond = (req, res) => {
    if (!`${req.url}`.includes('slow')) return void res.end('{}')
    hanging.push(() => res.end('{}'))
  }
  const hangUp = new AbortController()
  const slow = [eve, token].flatMap((one) =>
    Array.from({ length: 200 }, () =>
      fetch(`${system.url}/rest/jobs?slow`, {
        headers: { authorization: `Bearer ${one}` },
        signal: hangUp.signal,
      }).then(
        ({ status }) => status,
        () => undefined,
      ),
    ),
  )
  // One account's requests leave a quarter of its workspace's slots to the workspace's other accounts.
  expect(await waitUntil(() => hanging.length >= 192, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
  const began = performance.now()
  const others = Array.from({ length: 20 }, () => system.call('GET', '/rest/jobs', { token: gateway.token }))
  expect(new Set((await Promise.all(others)).map(({ status }) => status))).toEqual(new Set([200]))
  expect(performance.now() - began).toBeLessThan(5_000)
  expect(hanging).toHaveLength(192)
  for (let at = 0; at < 400; at++) {
    expect(await waitUntil(() => at < hanging.length, { timeoutMs: 30_000, intervalMs: 1 })).toBe(true)
    hanging[at]?.()
  }
  expect(new Set(await Promise.all(slow))).toEqual(new Set([200]))
})
