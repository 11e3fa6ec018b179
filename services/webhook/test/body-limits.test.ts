import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createBodyBudget } from '../src/body/body-budget.ts'
import { audioSpan } from '../src/native/audio-span.ts'

describe('the budget of bodies', () => {
  const limits = { bytes: 10, perSender: 100, free: 5 }

  test('leaves each its free share, and all together so much beyond it', () => {
    const budget = createBodyBudget(limits)
    const [one, other] = [budget.open('a'), budget.open('b')]
    expect([one.take(5), one.take(6), other.take(5), other.take(4)]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
    expect([one.take(1), other.take(1), budget.open('c').take(5)]).toEqual(['all', 'all', undefined])
    one.close()
    expect(other.take(6)).toBeUndefined()
    other.close()
    expect(budget.open('c').take(15)).toBeUndefined()
  })

  test('leaves each sender a share, so that one can’t take the room of another', () => {
    const budget = createBodyBudget({ ...limits, perSender: 6 })
    const [one, more, other] = [budget.open('a'), budget.open('a'), budget.open('b')]
    expect([one.take(9), more.take(7), more.take(1)]).toEqual([undefined, undefined, 'sender'])
    expect([other.take(9), budget.open('c').take(6)]).toEqual([undefined, 'all'])
    one.close()
    expect(more.take(4)).toBeUndefined()
  })
})

describe('the span of audio', () => {
  test('is what the text of the top-level member takes, whatever is around it', () => {
    const name = fc.string().filter((text) => text !== 'audio')
    const members = fc.dictionary(name, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5, noNullPrototype: true })
    const spaces = fc.constantFrom('', ' ', '\n\t')
    const property = fc.property(members, fc.string(), members, spaces, (before, audio, after, space) => {
      const inner = (object: object) => JSON.stringify(object).slice(1, -1)
      const written = JSON.stringify(audio)
      const parts = [inner(before), `"audio"${space}:${space}${written}`, inner(after)]
      const text = `{${parts.filter((part) => part !== '').join(`,${space}`)}}`
      const others = Buffer.byteLength(text) - Buffer.byteLength(written)
      expect(audioSpan(Buffer.from(text), others)).toBe(Buffer.byteLength(written))
    })
    fc.assert(property, { numRuns: 500 })
  })

  test('is nothing where there is no such text, and safe on any bytes', () => {
    for (const text of ['', '{}', '{"audio":5}', '[{"audio":"x"}]', '{"a":{"audio":"x"}}', '{"a":"audio"}'])
      expect(audioSpan(Buffer.from(text), 100)).toBe(0)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(audioSpan(Buffer.from(bytes), 200)).toBeLessThanOrEqual(bytes.length)
      }),
    )
  })

  test('is looked for only until more bytes lie outside it than may', () => {
    const audio = '"audio":"12345"'
    const texts = [
      `{"a":1,${audio}}`,
      `       {${audio}}`,
      `{"a"      :1,${audio}}`,
      `{"a\\"\\"":1,${audio}}`,
    ]
    for (const text of texts) expect(audioSpan(Buffer.from(text), 6)).toBe(0)
    expect(audioSpan(Buffer.from(`{${audio},"b":[1,2],${audio.replace('12345', '1')}}`), 15)).toBe(7)
  })
})
