import { afterAll, expect, test } from '@jest/globals'
import { startParley } from '@parley/local/testing/start-parley'
import { waitsForMore } from '@parley/local/testing/waits-for-more'
import { setLinger } from '@parley/shared/group'

const LONGEST_MS = 10

const running: { close(): Promise<void> }[] = []
afterAll(() => Promise.all(running.map((one) => one.close())))

test('LINGER_MS of its environment says how long its batches wait', async () => {
  setLinger(LONGEST_MS)
  expect(await waitsForMore()).toBe(true)
  running.push(
    await startParley({
      services: ['identity', 'dispatcher'],
      environment: { dispatcher: { LINGER_MS: '0' } },
    }),
  )
  expect(await waitsForMore()).toBe(false)
})
