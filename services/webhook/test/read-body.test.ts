import { expect, test } from '@jest/globals'
import { listen } from '@parley/local/testing/service-under-test'
import { waitUntil } from '@parley/local/wait-until'
import { createBodyBudget } from '../src/body/body-budget.ts'
import { readBody } from '../src/body/read-body.ts'

const budget = createBodyBudget({ bytes: 0, perSender: 0, free: 1_000_000 })

test('a body that has arrived before it is read is read whole, in however many pieces it came', async () => {
  const sizes: number[] = []
  const { url, close } = await listen(async (req, res) => {
    const length = Number(req.headers['content-length'])
    // As much as the connection buffers without being read: for the largest, all but the end.
    await waitUntil(() => req.readableLength >= Math.min(length, 65_536), {
      timeoutMs: 10_000,
      intervalMs: 5,
    })
    const limits = { maxBytes: 1_000_000, timeoutMs: 10_000, inflate: false, budget, sender: 'x' }
    sizes.push((await readBody(req, limits)).length)
    res.end()
  })
  const expected = [0, 1, 65_000, 65_536, 66_000, 100_000, 131_000, 300_000]
  for (const size of expected) await fetch(url, { method: 'POST', body: 'x'.repeat(size) })
  expect(sizes).toEqual(expected)
  await close()
})
