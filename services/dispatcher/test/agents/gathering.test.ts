import { describe, expect, test } from '@jest/globals'
import type { ModelRequest } from '../../src/agents/model-client.ts'
import { type Follower, gatheringOf } from '../../src/agents/turns/gathering.ts'
import { agentLine } from './agent-line.ts'
import { lastSaid } from './agent-system.ts'

const line = agentLine()

describe('the first of several messages', () => {
  const at = (...times: number[]): Follower[] =>
    times.map((receivedAt, n) => ({ _id: `m${n + 1}`, receivedAt, needsAgent: true }))
  const gathering = (now: number, followers: Follower[]) =>
    gatheringOf({ _id: 'm0', receivedAt: 0 }, { followers, gatherMs: 100, now })

  test.each([
    ['waits for the next', 50, at(), { kind: 'wait', until: 100 }],
    ['is answered alone when none came', 100, at(), { kind: 'work', isAlone: true }],
    ['waits anew with each', 120, at(90), { kind: 'wait', until: 190 }],
    ['is gathered into the last that came in time', 300, at(90, 180), { kind: 'gathered', into: 'm2' }],
    ['leaves out what came too late', 300, at(90, 250), { kind: 'gathered', into: 'm1' }],
    ['is answered at once when the next came too late', 101, at(101), { kind: 'work', isAlone: true }],
    ['waits three times as long at most', 250, at(90, 180, 270), { kind: 'wait', until: 300 }],
    ['takes what came until then', 300, at(90, 180, 270, 350), { kind: 'gathered', into: 'm3' }],
    [
      'does not wait beyond what is no message for the agent',
      50,
      [...at(20), { _id: 'template', receivedAt: 30, needsAgent: false }],
      { kind: 'gathered', into: 'm1' },
    ],
  ])('%s', (_title, now, followers, expected) => {
    expect(gathering(now, followers)).toEqual(expected)
  })
})

describe('messages of one thread that come in a burst', () => {
  test('get one answer, by the last; the others are done and name it', async () => {
    const requests: ModelRequest[] = []
    const system = line.start({
      config: { gatherMs: 700 },
      model: (request) => {
        requests.push(request)
        return `to ${lastSaid(request)}`
      },
    })
    for (const id of ['one', 'two', 'three']) system.publish(id)
    system.publish('beside', { thread: 'beside' })
    const ended = await Promise.all(['one', 'two', 'three'].map((id) => system.until(id)))
    expect(ended.map(({ state, gatheredInto }) => [state, gatheredInto])).toEqual([
      ['done', 'three'],
      ['done', 'three'],
      ['delivered', undefined],
    ])
    await system.until('beside')
    const asked = requests.find((request) => lastSaid(request) === 'three')
    expect(asked?.conversation.flatMap((one) => (one.role === 'person' ? one.text : []))).toEqual([
      'one',
      'two',
      'three',
    ])
    expect([requests.length, system.sent.map(({ text }) => text).sort()]).toEqual([
      2,
      ['to beside', 'to three'],
    ])
  })

  test.each([{ historyLimit: 0 }, { historyLimit: 1 }, { historyTokens: 0 }])(
    'are all read by the model, however little history it is given: %j',
    async (history) => {
      const requests: ModelRequest[] = []
      const system = line.start({
        config: { gatherMs: 700, ...history },
        model: (request) => {
          requests.push(request)
          return `to ${lastSaid(request)}`
        },
      })
      const [before, ...burst] = ['hello', 'I would', 'like', 'a pizza'].map(
        (text) => `${text} ${JSON.stringify(history)}`,
      ) as [string, ...string[]]
      system.publish(before)
      await system.until(before)
      for (const id of burst) system.publish(id)
      await system.until(burst.at(-1) ?? '')
      const said = requests.at(-1)?.conversation.flatMap((one) => (one.role === 'person' ? one.text : []))
      expect(said).toEqual([...(history.historyLimit === 1 ? [before] : []), ...burst])
    },
  )

  test('get one answer also when the instance dies while they wait', async () => {
    let asked = 0
    const system = line.start({ config: { gatherMs: 1_500 }, model: () => `answer ${++asked}` })
    for (const id of ['k-one', 'k-two']) system.publish(id)
    for (const id of ['k-one', 'k-two']) await system.until(id, ({ open }) => open === true)
    await system.kill()
    expect((await system.until('k-two')).state).toBe('delivered')
    expect([(await system.until('k-one')).gatheredInto, asked]).toEqual(['k-two', 1])
  })

  test('are not gathered across one that carries its answer', async () => {
    const system = line.start({ config: { gatherMs: 700 }, model: (request) => `to ${lastSaid(request)}` })
    system.publish('before')
    system.publish('template', { answer: { message: 'from the API' } })
    system.publish('after')
    await system.until('after')
    expect(system.sent.map(({ text }) => text)).toEqual(['to before', 'from the API', 'to after'])
  })
})
