import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { exchangeText, isComplete, resultText } from '@parley/local/demo/assistant/report'
import {
  type AssistantDemoResult,
  type Exchange,
  runAssistantDemo,
} from '@parley/local/demo/assistant/run-assistant-demo'
import { type AssistantSystem, startAssistantSystem } from './assistant-system.ts'

let system: AssistantSystem
let result: AssistantDemoResult
const seen: Exchange[] = []

beforeAll(async () => {
  system = await startAssistantSystem()
  const { parley, simulatorUrl, modelSimulatorUrl } = system
  const urls = { gatewayUrl: parley.url, simulatorUrl, modelSimulatorUrl }
  result = await runAssistantDemo({ ...urls, onExchange: (message) => void seen.push(message) })
})
afterAll(() => system.close(), 60_000)

interface Sent {
  text?: string
  opaque: string
}

async function sent(): Promise<Sent[]> {
  const response = await fetch(`${system.simulatorUrl}/simulator/sends`)
  return ((await response.json()) as { data: Sent[] }).data
}

describe('a conversation over WhatsApp with an assistant that has a workflow of three steps', () => {
  test('ends with the task completed, which has what was submitted at each step', () => {
    expect(result.task).toEqual({
      status: 'completed',
      steps: {
        1: { day: 'Friday', time: '14:30' },
        2: { name: 'Joana Prado' },
        3: { appointment: 17 },
      },
    })
    expect(isComplete(result)).toBe(true)
  })

  test('reaches the person text by text, in order, each once', async () => {
    const sends = await sent()
    expect(sends.map(({ text }) => text)).toEqual([
      'Hello Joana, of course. Which day would suit you?',
      'On Friday there is *09:00* and *14:30*.',
      'And who comes?',
      'Thank you, one moment.',
      'It is booked: Friday at *14:30*. See you then!',
    ])
    expect(new Set(sends.map(({ opaque }) => opaque)).size).toBe(sends.length)
  })

  test('calls its functions, one of them twice under its key, of which the model reads the second answer', () => {
    const calls = result.conversation.flatMap(({ answer }) => answer.turns.flatMap((turn) => turn.calls))
    expect(calls.map(({ tool, result: given }) => [tool, given?.state, given?.status])).toEqual([
      ['createTask', 'done', undefined],
      ['freeTimes', 'done', 200],
      ['submit', 'done', undefined],
      ['submit', 'done', undefined],
      ['bookAppointment', 'done', 201],
      ['submit', 'done', undefined],
    ])
    expect(result.bookings).toEqual([expect.any(String), result.bookings[0]])
  })

  test('gives the model the instructions of the step that the task is at, anew in each turn', async () => {
    const response = await fetch(`${system.modelSimulatorUrl}/simulator/requests`)
    const { data } = (await response.json()) as { data: { body: { messages: { content: string }[] } }[] }
    const steps = data.map(({ body }) => /Current step: (.*)/.exec(body.messages[0]?.content ?? '')?.[1])
    expect(steps).toEqual([
      undefined,
      'Find a time',
      'Find a time',
      'Find a time',
      'Find a time',
      'Ask the name',
      'Ask the name',
      'Book',
      'Book',
      undefined,
    ])
  })
})

describe('npm run demo -- assistant', () => {
  test('prints each message as soon as it is answered, and the result with task and tokens', () => {
    expect(seen).toEqual(result.conversation)
    const printed = [...seen.map(exchangeText), resultText(result)].join('\n')
    expect(printed).toContain(
      'Joana     Half past two is fine.\n          - submit {"day":"Friday","time":"14:30"}\n',
    )
    expect(printed).toContain(
      '          - freeTimes {"day":"Friday"}\n            done 200: {"times":["09:00","14:30"]}\n',
    )
    expect(printed).toContain('done 201: ')
    expect(printed).toMatch(/^ {2}status {2}completed$/m)
    expect(printed).toMatch(/^ {2}tokens in +[1-9][\d,]*$/m)
    expect(printed).toMatch(/^ {2}tokens out +[1-9][\d,]*$/m)
  })

  test('fits into 80 columns, also where a word alone is longer', () => {
    const long = { state: 'dead', reason: 'x'.repeat(300), turns: [] }
    const printed = [...seen, { said: 'words '.repeat(50), answer: long }].map(exchangeText).join('\n')
    const lines = `${printed}\n${resultText(result)}`.split('\n')
    expect(Math.max(...lines.map(({ length }) => length))).toBe(80)
  })
})
