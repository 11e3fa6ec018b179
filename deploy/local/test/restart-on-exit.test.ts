import { expect, test } from '@jest/globals'
import { restartOnExit } from '@parley/local/system/node-process'
import { waitUntil } from '@parley/local/wait-until'

/** Ends when told to; `failures` of its restarts fail. */
function endable(failures: number) {
  let end: () => void = () => undefined
  const run = () => new Promise<void>((resolve) => (end = resolve))
  const subject = {
    name: 'It',
    exited: run(),
    starts: 0,
    end: () => end(),
    async restart() {
      subject.starts++
      if (subject.starts <= failures) throw new Error('It did not start')
      subject.exited = run()
    },
  }
  return subject
}

test('a process that ends is restarted, after a longer delay each time, until the signal aborts', async () => {
  const subject = endable(2)
  const said: string[] = []
  let restarts = 0
  const stopping = new AbortController()
  const onRestart = () => void restarts++
  const running = restartOnExit(subject, {
    say: (line) => said.push(line),
    onRestart,
    signal: stopping.signal,
  })
  subject.end()
  expect(await waitUntil(() => restarts === 3, { timeoutMs: 30_000 })).toBe(true)
  expect(said).toEqual([
    'It ended; starting it again in 0.2 s.',
    'It did not start',
    'It ended; starting it again in 0.4 s.',
    'It did not start',
    'It ended; starting it again in 0.8 s.',
  ])
  stopping.abort()
  await running
  subject.end()
  expect(subject.starts).toBe(3)
})
