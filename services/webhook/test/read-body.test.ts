import { type IncomingMessage, request } from 'node:http'
import type { Writable } from 'node:stream'
import { brotliCompressSync } from 'node:zlib'
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

/** Posts to a reader of compressed bodies that takes 1 MB: what it says of them, and whether it goes on to decompress them. */
async function refused(options: { body: Buffer; declared?: number; timeoutMs?: number; sender?: number }) {
  const { body, declared = body.length, timeoutMs = 10_000, sender = 1_000_000 } = options
  const outcomes: { code: string; isOver: boolean | undefined }[] = []
  const { url, close } = await listen(async (req, res) => {
    const decoder = decoderOf(req)
    const share = createBodyBudget({ bytes: 1_000_000, perSender: sender, free: 0 })
    const limits = { maxBytes: 1_000_000, timeoutMs, inflate: true, budget: share, sender: 'x' }
    const code = await Promise.resolve(readBody(req, limits)).then(
      () => 'taken',
      (error) => error.code,
    )
    outcomes.push({ code, isOver: decoder()?.destroyed })
    res.writeHead(413).end()
  })
  const headers = { 'content-encoding': 'br', 'content-length': declared }
  const response = await new Promise((resolve, reject) => {
    const sending = request(url, { method: 'POST', headers }, (res) => resolve(res.resume().statusCode))
    sending.on('error', reject)
    sending.write(body)
    if (declared === body.length) sending.end()
  })
  await close()
  return { response, outcomes }
}

/** Returns the stream that a request's bytes are piped to. */
function decoderOf(req: IncomingMessage): () => Writable | undefined {
  let decoder: Writable | undefined
  const pipe = req.pipe.bind(req)
  req.pipe = (to) => {
    decoder = to as unknown as Writable
    return pipe(to)
  }
  return () => decoder
}

test('nothing of a compressed body is decompressed any more once it is refused', async () => {
  // 64 MiB of blanks, in less than a hundred bytes.
  const bomb = brotliCompressSync(Buffer.alloc(64 * 1024 * 1024, ' '))
  const half = bomb.subarray(0, 8)
  const over = (code: string) => ({ response: 413, outcomes: [{ code, isOver: true }] })
  expect(await refused({ body: bomb })).toEqual(over('body_too_large'))
  expect(await refused({ body: bomb, sender: 10_000 })).toEqual(over('rate_limited'))
  expect(await refused({ body: half, declared: bomb.length, timeoutMs: 50 })).toEqual(over('body_timeout'))
})
