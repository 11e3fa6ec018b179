import { describe, expect, test } from '@jest/globals'
import type { ModelRequest, ModelResult } from '../../src/agents/model-client.ts'
import { agentLine } from './agent-line.ts'
import { lastSaid, modelTurn } from './agent-system.ts'

const line = agentLine()
const SPOKEN = { audio: Buffer.from('OggS').toString('base64'), input: '' }

/** Hears one result after the other. */
function hearing(...results: ModelResult[]) {
  const heard: string[] = []
  const hear = async ({ record }: { record: { _id: string } }) => {
    heard.push(record._id)
    return results[heard.length - 1] ?? modelTurn('no more')
  }
  return { heard, parts: { hearing: { canHear: () => true, hear } } }
}

describe('a message with audio', () => {
  test('is heard once; what is said is stored with it, and the model reads it', async () => {
    const { heard, parts } = hearing(modelTurn('Where is my parcel?'))
    const system = line.start({ model: (request) => `You said: ${lastSaid(request)}`, parts })
    system.publish('spoken', SPOKEN)
    const record = await system.until('spoken')
    expect([record.state, record.transcript]).toEqual(['delivered', 'Where is my parcel?'])
    expect(system.sent).toEqual([{ id: 'spoken:0', text: 'You said: Where is my parcel?' }])
    system.publish('later')
    await system.until('later')
    expect(heard).toEqual(['spoken'])
  })

  test('is part of the conversation that later messages are answered in', async () => {
    const { parts } = hearing(modelTurn('Where is my parcel?'))
    const conversations: string[] = []
    const model = ({ conversation }: { conversation: object[] }) => {
      conversations.push(JSON.stringify(conversation))
      return 'On its way.'
    }
    const system = line.start({ model, parts })
    system.publish('asked aloud', SPOKEN)
    await system.until('asked aloud')
    system.publish('asked later')
    await system.until('asked later')
    expect(conversations[1]).toContain('Where is my parcel?')
  })

  test('is heard before it is gathered into a later one, so that the answer to both knows what is said in each', async () => {
    const { heard, parts } = hearing(modelTurn('My parcel is late.'), modelTurn('It is blue.'))
    const requests: ModelRequest[] = []
    const model = (request: ModelRequest) => {
      requests.push(request)
      return 'I see.'
    }
    const system = line.start({ config: { gatherMs: 700 }, model, parts })
    for (const id of ['spoken-1', 'spoken-2']) system.publish(id, SPOKEN)
    expect(await system.until('spoken-1')).toMatchObject({ state: 'done', gatheredInto: 'spoken-2' })
    await system.until('spoken-2')
    expect([heard, requests.length]).toEqual([['spoken-1', 'spoken-2'], 1])
    const said = requests[0]?.conversation.flatMap((one) => (one.role === 'person' ? one.text : []))
    expect(said).toEqual(['My parcel is late.', 'It is blue.'])
  })

  test('that can not be heard is gathered all the same, and the person gets one answer', async () => {
    for (const kind of ['refused', 'retryable'] as const) {
      const { parts } = hearing({ kind, code: 'http_500', reason: 'It failed.' }, modelTurn('It is blue.'))
      const config = { gatherMs: 700, fallbackMessage: 'Sorry.' }
      const system = line.start({ config, model: () => 'One answer', parts })
      for (const id of [`unheard-${kind}`, `heard-${kind}`]) system.publish(id, SPOKEN)
      const first = await system.until(`unheard-${kind}`)
      expect(first).toMatchObject({ state: 'done', gatheredInto: `heard-${kind}` })
      await system.until(`heard-${kind}`)
      expect(system.sent.map(({ text }) => text)).toEqual(['One answer'])
    }
  })

  test('is heard when it is run again, also where the person was told that it failed', async () => {
    const wrong = { kind: 'refused', code: 'http_401', reason: 'The key is wrong.' } as const
    const late = { kind: 'retryable', code: 'http_500', reason: 'Later.', retryAfterSeconds: 60 } as const
    for (const first of [wrong, late]) {
      const { parts } = hearing(first, modelTurn('Good morning'))
      const config = { messageTimeoutSeconds: 5, fallbackMessage: 'Sorry.' }
      const system = line.start({ model: lastSaid, parts, config })
      const id = `again-${first.code}`
      system.publish(id, SPOKEN)
      expect(await system.until(id)).toMatchObject({ state: 'dead', turns: [] })
      await system.replay(id)
      const record = await system.until(id, ({ state }) => state === 'delivered')
      expect([record.transcript, system.sent.at(-1)?.text]).toEqual(['Good morning', 'Good morning'])
    }
  })

  test('is heard again after a failure that may pass, and is dead after one that will not', async () => {
    const again = hearing(
      { kind: 'retryable', code: 'http_500', reason: 'The provider failed.' },
      modelTurn('Good morning'),
    )
    const system = line.start({ model: lastSaid, parts: again.parts })
    system.publish('twice', SPOKEN)
    expect((await system.until('twice')).transcript).toBe('Good morning')
    expect(again.heard).toEqual(['twice', 'twice'])
    const refused = hearing({ kind: 'refused', code: 'http_401', reason: 'The key is wrong.' })
    const other = line.start({ model: lastSaid, parts: refused.parts })
    other.publish('never', SPOKEN)
    expect(await other.until('never')).toMatchObject({ state: 'dead', fault: 'channel', sends: [] })
  })

  test('that nobody can hear is told to the model as such', async () => {
    const system = line.start({ model: lastSaid })
    system.publish('unheard', SPOKEN)
    await system.until('unheard')
    expect(system.sent[0]?.text).toContain('audio, which you can not hear')
  })
})
