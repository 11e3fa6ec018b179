import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText } from 'ai'

const { MODEL_BASE_URL = '', SINK_URL = '', LOOPS = '1', SYSTEM = '' } = process.env

/** The baseline of turns, without queue, store, order, history, bounds and retries: ask the model, POST its answer. */
const model = createOpenAICompatible({ name: 'bare', baseURL: MODEL_BASE_URL }).chatModel('slow')
let count = 0
const loop = async () => {
  for (;;) {
    const prompt = `Olá ${count}`
    const { text } = await generateText({ model, instructions: SYSTEM, prompt, maxRetries: 0 })
    const response = await fetch(`${SINK_URL}/callback`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'webhook-id': `bare-${process.pid}-${count++}` },
      body: JSON.stringify({ text }),
    })
    await response.arrayBuffer()
  }
}
await Promise.all(Array.from({ length: Number(LOOPS) }, loop))
