import { setTimeout as pause } from 'node:timers/promises'
import { listen } from '@parley/local/testing/service-under-test'

const completion = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_735_689_600,
  model: 'slow',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'A sua encomenda saiu para entrega.' },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
})

/** A model that takes `responseMs` for each call, speaking OpenAI's API; meanwhile it costs next to nothing. */
export async function startSlowModel(responseMs: number) {
  let waiting = 0
  let isStopped = Promise.withResolvers<void>()
  let isPaused = false
  const { url, close } = await listen((req, res) => {
    req.resume().on('end', async () => {
      waiting++
      res.once('close', () => waiting--)
      await pause(responseMs)
      if (isPaused) await isStopped.promise
      if (!res.closed) res.writeHead(200, { 'content-type': 'application/json' }).end(completion)
    })
  })
  return {
    baseUrl: `${url}/v1`,
    close,
    /** How many calls wait at the moment. */
    waiting: () => waiting,
    /** Until {@link resume} no call gets its response, however long it takes. */
    pause(): void {
      isPaused = true
    },
    resume(): void {
      isPaused = false
      isStopped.resolve()
      isStopped = Promise.withResolvers()
    },
  }
}
