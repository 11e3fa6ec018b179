import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cutText, MAX_CHARACTERS } from '../../src/agents/prompt/texts.ts'
import { boundedData, dataItem, itemsOf } from '../../src/agents/turns/conversation-items.ts'

test('a text of up to 16,000 characters stays as it is; of a longer one the beginning is there, and how much more there was', () =>
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 50 }),
      fc.integer({ min: MAX_CHARACTERS - 60, max: MAX_CHARACTERS + 60 }),
      (end, before) => {
        const text = `${'a'.repeat(before)}${end}`
        const cut = cutText(text)
        if (text.length <= MAX_CHARACTERS) return expect(cut).toBe(text)
        const [, remaining = '', more] = /^(.*)… \(cut: (\d+) more characters\)$/su.exec(cut) ?? []
        expect(text.startsWith(remaining)).toBe(true)
        expect(remaining.length).toBeLessThanOrEqual(MAX_CHARACTERS)
        expect(remaining.length + Number(more)).toBe(text.length)
        expect(remaining.isWellFormed()).toBe(true)
      },
    ),
  ))

const LONG = 'a'.repeat(50_000)
const longest = (items: ReturnType<typeof itemsOf>) =>
  Math.max(...items.map((item) => (item.role === 'data' ? item.json : item.text).length))

test.each([
  ['writes', { input: LONG }, {}],
  ['says', { audio: 'x' }, { transcript: LONG }],
  ['sends', { meta: { order: { note: LONG } } }, { source: 'meta' }],
  ['writes and says', { input: LONG, audio: 'x' }, { transcript: LONG }],
])('what a person %s is cut, now and in the history', (_what, message, record) => {
  const spoken = { source: 'api', sends: [], turns: [], ...record }
  const items = itemsOf({ ...spoken, message: { extId: 'c', user: {}, thread: {}, answer: {}, ...message } })
  expect(longest(items)).toBeLessThan(MAX_CHARACTERS + 50)
})

test('what others than a model said to the person is cut', () => {
  const content = { kind: 'text' as const, text: LONG }
  const message = { extId: 'c', user: {}, thread: {}, answer: {} }
  const sends = [{ id: '1', state: 'delivered' as const, content }]
  expect(longest(itemsOf({ source: 'api', sends, message }))).toBeLessThan(MAX_CHARACTERS + 50)
})

test('facts about person, thread and task are cut one by one, and stay JSON', () => {
  const data = { user: { name: 'Ana', ctx: { note: LONG } }, thread: { ctx: {} }, task: { state: [LONG] } }
  const bounded = boundedData(data)
  expect(bounded).toMatchObject({ thread: { ctx: {} }, user: expect.stringContaining('{"name":"Ana"') })
  expect(bounded.user).toMatch(/… \(cut: \d+ more characters\)$/)
  expect(longest([dataItem(data)])).toBeLessThan(2 * MAX_CHARACTERS + 2_000)
  expect(JSON.parse((dataItem(data) as { json: string }).json)).toEqual(bounded)
})
