import { expect, test } from '@jest/globals'
import { detailOf, summaryOf } from '../../src/api/messages/view.ts'
import type { Turn } from '../../src/message/turn.ts'
import { newRecord } from '../new-record.ts'

const turn: Turn = {
  at: new Date('2026-01-01T00:00:01Z'),
  provider: 'openai',
  model: 'm',
  inputTokens: 10,
  outputTokens: 5,
  ms: 900,
  finishReason: 'tool-calls',
  text: 'One moment.',
  calls: [
    { id: 'a', tool: 'findOrder', args: '{"id":7}', result: { state: 'done', status: 200, text: '{}' } },
    { id: 'b', tool: 'findOrder', args: '{"id":' },
  ],
}

test('a message does not show how the tools of its turns are found', () => {
  const calls = [{ id: 'a', tool: 'findOrder', of: { action: 1, name: 'findOrder' }, args: '{}' }]
  expect(detailOf(newRecord({ turns: [{ ...turn, calls }] }))).toMatchObject({
    turns: [{ calls: [expect.not.objectContaining({ of: expect.anything() })] }],
  })
})

test('a message shows the turns of its agent, with arguments as JSON where they are', () => {
  const { calls, ...rest } = turn
  expect(detailOf(newRecord({ turns: [turn] }))).toMatchObject({
    turns: [
      {
        ...rest,
        calls: [
          { ...calls[0], args: { id: 7 } },
          { ...calls[1], args: '{"id":' },
        ],
      },
    ],
  })
  expect(detailOf(newRecord())).not.toHaveProperty('turns')
})

test('a message that was answered with a later one names it', () => {
  expect(summaryOf(newRecord({ gatheredInto: 'later' }))).toMatchObject({ gatheredInto: 'later' })
})

test('what has not left of a message that was given up is no send that waits', () => {
  const content = { kind: 'text' as const, text: 'Hi' }
  const sends = [
    { id: 'm:0', content, state: 'sent' as const, providerId: 'w' },
    { id: 'm:1', content, state: 'pending' as const },
  ]
  const statesOf = (state: 'dead' | 'sending') =>
    (detailOf(newRecord({ state, sends })) as { sends: { state: string }[] }).sends.map((send) => send.state)
  expect(statesOf('dead')).toEqual(['sent', 'failed'])
  expect(statesOf('sending')).toEqual(['sent', 'pending'])
})
