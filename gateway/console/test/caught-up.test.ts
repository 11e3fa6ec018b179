import { expect, test } from '@jest/globals'
import { caughtUp } from '../src/caught-up.ts'

test('a tab that is to lead has heard what the one before said', async () => {
  const [before, next] = [new BroadcastChannel('tabs'), new BroadcastChannel('tabs')]
  const heard: unknown[] = []
  next.onmessage = ({ data }: MessageEvent) => heard.push(data)
  try {
    for (let at = 0; at < 100; at++) before.postMessage(at)
    expect(heard).toEqual([])
    await caughtUp(next, new AbortController().signal)
    expect(heard).toEqual([...Array(100).keys(), { mark: expect.any(String) }])
  } finally {
    before.close()
    next.close()
  }
})
