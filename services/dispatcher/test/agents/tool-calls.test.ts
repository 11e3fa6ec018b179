import { describe, expect, test } from '@jest/globals'
import type { Outcome } from '../../src/message/outcome.ts'
import { agentLine } from './agent-line.ts'
import { type AgentBehaviour, modelTurn, toolCall } from './agent-system.ts'
import { note, script } from './scripted-model.ts'

const line = agentLine()

describe('a call of a tool', () => {
  test('that fails does not end the message: the model is given status and body', async () => {
    const { model } = script(modelTurn('', [toolCall('note')]), 'It did not work.')
    const system = line.start({ model, open: () => note(503, 'out of order') })
    system.publish('fails')
    const record = await system.until('fails')
    expect(record.turns?.[0]?.calls[0]?.result).toEqual({
      state: 'failed',
      status: 503,
      text: 'out of order',
    })
    expect([record.state, system.sent]).toEqual(['delivered', [{ id: 'fails:1', text: 'It did not work.' }]])
  })

  test('is of the tool whose name the model was given, also when the turn is read from the store', async () => {
    const { model } = script(modelTurn('', [toolCall('note')]), 'Done.')
    const asked: unknown[] = []
    const system = line.start({
      model,
      open: ({ tool, of }) => {
        asked.push([tool, of])
        return note()
      },
    })
    system.publish('sourced')
    const record = await system.until('sourced')
    const of = { action: 1, name: 'note' }
    expect([asked, record.turns?.[0]?.calls[0]?.of]).toEqual([[['note', of]], of])
  })

  test('that can not be made is given back to the model as an error, and the next one is made', async () => {
    const { model, requests } = script(
      modelTurn('', [toolCall('magic', {}, 'x'), toolCall('note', {}, 'y')]),
      'Well.',
    )
    const system = line.start({
      model,
      open: ({ tool }) => (tool === 'note' ? note() : { kind: 'invalid', reason: `There is no ${tool}.` }),
    })
    system.publish('invalid')
    await system.until('invalid')
    expect(requests[1]?.conversation.at(-1)).toMatchObject({
      calls: [
        { tool: 'magic', result: { state: 'failed', text: 'There is no magic.' } },
        { tool: 'note', result: { state: 'done', text: 'noted' } },
      ],
    })
  })

  test('that does not come through is tried again under the same id', async () => {
    const ids: string[] = []
    const { model } = script(modelTurn('', [toolCall('note')]), 'Done.')
    const system = line.start({
      model,
      open: () => ({
        kind: 'call',
        deliver: async (id) => {
          ids.push(id)
          if (ids.length === 1) return { kind: 'unreached', reason: 'nobody there' }
          return { kind: 'answered', result: { state: 'done', text: 'ok' } }
        },
      }),
    })
    system.publish('again')
    const record = await system.until('again')
    expect([ids, record.attempts[0]]).toMatchObject([
      ['again:0', 'again:0'],
      { step: 'again:0', outcome: 'retryable', code: 'not_reached' },
    ])
  })

  test('that says something sends it to the person, as a text or a template', async () => {
    const { model, requests } = script(
      modelTurn('', [toolCall('callback', {}, 'x'), toolCall('template', {}, 'y')]),
      'Bye.',
    )
    const system = line.start({
      model,
      open: ({ tool }) => ({
        kind: 'say',
        content:
          tool === 'callback'
            ? { kind: 'text', text: 'Working on it.' }
            : { kind: 'template', template: 'receipt', language: 'en', variables: [] },
      }),
    })
    system.publish('says')
    const record = await system.until('says')
    expect(system.sent.map(({ text }) => text)).toEqual(['Working on it.', 'receipt', 'Bye.'])
    expect(record.sends.map(({ content, state }) => [content.kind, state])).toEqual([
      ['text', 'delivered'],
      ['template', 'delivered'],
      ['text', 'delivered'],
    ])
    expect(requests[1]?.conversation.at(-1)).toMatchObject({
      calls: [{ result: { state: 'done' } }, { result: { state: 'done' } }],
    })
  })

  test('whose words the provider refuses has failed, and does not count as sent', async () => {
    const { model } = script(modelTurn('', [toolCall('callback')]), 'Bye.')
    const system = line.start({
      model,
      open: () => ({ kind: 'say', content: { kind: 'text', text: 'refused' } }),
      send: ({ content }) =>
        content.kind === 'text' && content.text === 'refused'
          ? { kind: 'permanent', code: '131000', fault: 'provider', reason: 'No such template.' }
          : { kind: 'accepted', delivered: true },
    })
    system.publish('refused')
    const record = await system.until('refused')
    expect(record.turns?.[0]?.calls[0]?.result).toEqual({ state: 'failed', text: 'No such template.' })
    expect([record.state, record.sends.map(({ content }) => content.kind)]).toEqual([
      'delivered',
      ['tool', 'text'],
    ])
  })

  test('whose result is longer than 16 KiB is cut, and says so', async () => {
    const { model } = script(modelTurn('', [toolCall('note')]), 'Long.')
    const system = line.start({ model, open: () => note(200, 'é'.repeat(20_000)) })
    system.publish('long')
    const result = (await system.until('long')).turns?.[0]?.calls[0]?.result
    expect([Buffer.byteLength(result?.text ?? ''), result?.cut]).toEqual([16 * 1024, true])
  })

  test('beyond the fiftieth of a turn, or with far too long arguments, is not made', async () => {
    const calls = Array.from({ length: 60 }, (_, n) => toolCall('note', {}, n < 2 ? 'same' : `n${n}`))
    const long = toolCall('note', { text: 'x'.repeat(100_000) }, 'long')
    const { model } = script(modelTurn('', [long, ...calls]), 'Many.')
    let made = 0
    const system = line.start({
      model,
      open: () => {
        made++
        return note()
      },
    })
    system.publish('many')
    const stored = (await system.until('many')).turns?.[0]?.calls ?? []
    expect([made, stored.length, new Set(stored.map(({ id }) => id)).size]).toEqual([49, 50, 50])
    expect(stored[0]).toMatchObject({ args: '{}', result: { state: 'failed' } })
  })
})

describe('a hand-off', () => {
  test('ends the work: a person takes over, the channel is told, and nothing further is called', async () => {
    const { model, requests } = script(
      modelTurn('I get somebody.', [toolCall('handOff', {}, 'x'), toolCall('note', {}, 'y')]),
    )
    const notified: unknown[] = []
    const system = line.start({
      model,
      open: ({ tool }) => (tool === 'note' ? note() : { kind: 'handOff', reason: 'angry' }),
      parts: {
        handOff: async ({ record, reason }) => void notified.push([record._id, reason]),
        notifyHandOff: ({ id, reason }) => ({
          url: 'http://there.example/hook',
          deliver: async () => {
            notified.push([id, reason])
            return { kind: 'accepted', delivered: true }
          },
        }),
      },
    })
    system.publish('off')
    const record = await system.until('off')
    expect([record.state, record.reason, notified, requests.length]).toEqual([
      'done',
      'handed_off',
      [
        ['off', 'angry'],
        ['off:1', 'angry'],
      ],
      1,
    ])
    expect(record.turns?.[0]?.calls.map(({ result }) => result?.state)).toEqual(['done', 'failed'])
  })

  test('without a URL to tell ends the message all the same', async () => {
    const { model } = script(modelTurn('', [toolCall('handOff')]))
    const system = line.start({ model, open: () => ({ kind: 'handOff', reason: 'asked for it' }) })
    system.publish('quiet')
    expect(await system.until('quiet')).toMatchObject({ state: 'done', reason: 'handed_off' })
  })

  const failing = {
    refused: { kind: 'permanent', code: 'http_404', fault: 'channel', reason: 'The endpoint answered 404.' },
    unreached: {
      kind: 'retryable',
      code: 'http_503',
      fault: 'channel',
      reason: 'The endpoint answered 503.',
    },
  } as const

  /** A hand-off whose URL answers so from its first attempt on. */
  function handOffTo(deliver: () => Promise<Outcome>, behaviour: Partial<AgentBehaviour> = {}) {
    const { model } = script(modelTurn('', [toolCall('handOff')]))
    let given = 0
    const system = line.start({
      ...behaviour,
      model,
      open: () => ({ kind: 'handOff', reason: 'x' }),
      parts: {
        handOff: async () => void given++,
        notifyHandOff: () => ({ url: 'http://there.example/hook', deliver }),
      },
    })
    return { system, given: () => given }
  }

  test('that the URL refuses has happened all the same, and says that it was refused', async () => {
    const { system } = handOffTo(async () => failing.refused)
    system.publish('refusing')
    const record = await system.until('refusing')
    expect(record).toMatchObject({
      ...{ state: 'done', reason: 'handed_off' },
      attempts: [{ step: 'refusing:0', outcome: 'permanent', code: 'http_404' }],
    })
    expect(record.fault).toBeUndefined()
    expect(record.turns?.[0]?.calls[0]?.result).toMatchObject({ state: 'failed' })
  })

  test('that the URL does not take yet is told again, and lets pass what follows in its thread', async () => {
    const reached = Promise.withResolvers<void>()
    const outcomes: Outcome[] = [failing.unreached]
    const { system, given } = handOffTo(async () => {
      const answer = outcomes.shift()
      if (answer === undefined) await reached.promise
      return answer ?? { kind: 'accepted', delivered: true }
    })
    system.publish('busy')
    await system.until('busy', ({ attempts }) => attempts.length === 1)
    system.publish('reply', { answer: { message: 'A person here.' } })
    expect((await system.until('reply')).state).toBe('delivered')
    expect((await system.stored('busy'))?.open).toBe(true)
    reached.resolve()
    expect(await system.until('busy')).toMatchObject({
      ...{ state: 'done', reason: 'handed_off' },
      sends: [{ state: 'delivered' }],
    })
    expect(given()).toBe(1)
  })

  test('whose instance dies while the URL is told is told again, and gives the thread once', async () => {
    const notified = Promise.withResolvers<void>()
    let times = 0
    const { system, given } = handOffTo(async () => {
      if (++times > 1) return { kind: 'accepted', delivered: true }
      notified.resolve()
      return new Promise(() => {})
    })
    system.publish('cut off')
    await notified.promise
    await system.kill()
    expect(await system.until('cut off')).toMatchObject({ state: 'done', reason: 'handed_off' })
    expect({ times, given: given() }).toEqual({ times: 2, given: 1 })
  })

  test('that finds no call free at its host gives the thread once, and lets pass what follows in it', async () => {
    let isFull = true
    const wait = () => ({ kind: 'wait', until: Date.now() + 50, for: 'host', reason: 'busy' }) as const
    const { system, given } = handOffTo(async () => ({ kind: 'accepted', delivered: true }), {
      options: {
        endpoints: { enter: () => (isFull ? wait() : { kind: 'entered', leave: () => {} }) },
      },
    })
    system.publish('crowded')
    await system.until('crowded', ({ lane }) => lane !== undefined)
    system.publish('reply', { answer: { message: 'A person here.' } })
    expect((await system.until('reply')).state).toBe('delivered')
    expect((await system.stored('crowded'))?.open).toBe(true)
    isFull = false
    expect(await system.until('crowded')).toMatchObject({ state: 'done', reason: 'handed_off' })
    expect(given()).toBe(1)
  })

  test('that the URL does not take in the time of a message is not followed by anything the agent says', async () => {
    const until = Date.now() + 2_500
    const { system } = handOffTo(
      async () => (Date.now() < until ? failing.unreached : { kind: 'accepted', delivered: true }),
      { config: { messageTimeoutSeconds: 2, fallbackMessage: 'Sorry.' } },
    )
    system.publish('late')
    expect(await system.until('late')).toMatchObject({ state: 'done', reason: 'handed_off' })
    expect(system.sent).toEqual([])
  })
})
