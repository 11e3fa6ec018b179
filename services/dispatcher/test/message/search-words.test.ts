import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { excerptAround, messageWords, phoneEnds, searchWords } from '../../src/message/search-words.ts'

/** Compares like the database: true if a stored text begins with the searched one. */
const finds = (stored: readonly string[], part: string) => stored.some((one) => one.startsWith(part))

/** In capitals, where that is the same word. */
const upper = (word: string) => {
  const capitals = word.toUpperCase()
  return capitals.toLowerCase() === word.toLowerCase() ? capitals : word
}

const number = fc.stringMatching(/^[1-9]\d{3,14}$/)
const speech = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), { maxLength: 100 })

describe('a part of a phone number', () => {
  test('of four digits or more finds it, and nothing that it has not', () => {
    fc.assert(
      fc.property(
        number,
        fc.nat(),
        fc.nat(),
        fc.stringMatching(/^\d{4,15}$/),
        (digits, at, length, other) => {
          const ends = phoneEnds([`phone:${digits}`, 'whatsapp:DE.4711'])
          const begin = at % (digits.length - 3)
          const part = digits.slice(begin, begin + 4 + (length % (digits.length - begin - 3)))
          expect(finds(ends, part)).toBe(true)
          expect(finds(ends, other)).toBe(digits.includes(other))
          expect(ends.length).toBeLessThanOrEqual(12)
        },
      ),
    )
  })

  test('is of phone numbers alone, and of none that is shorter', () => {
    expect(phoneEnds(['whatsapp:DE.471147114711', 'group:120363041234567890', 'phone:110'])).toEqual([])
    expect(phoneEnds(['phone:12345', 'phone:92345'])).toEqual(['12345', '2345', '92345'])
  })
})

describe('the words of a message', () => {
  test('are found by each of them, by the beginning of each, and without case and accents', () => {
    fc.assert(
      fc.property(speech, (texts) => {
        const text = texts.join(' ')
        const stored = messageWords([text])
        const words = text.normalize('NFKD').match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
        for (const word of words.slice(0, 100))
          for (const asked of [word, word.normalize('NFC'), word.slice(0, 3), upper(word)])
            expect(searchWords(asked).every((one) => stored.length === 128 || finds(stored, one))).toBe(true)
      }),
    )
  })

  test.each([
    ['accents and cases', 'Você NÃO recebeu? Señora Peña, ação!', 'nao acao pena senora voce'],
    ['an order number with hyphens', 'My order is BR-2024-00123.', '2024-00123 br'],
    ['full-width digits and letters', 'Ｏｒｄｅｒ ４７１１', 'order 4711'],
    ['an apostrophe', "d'água, don’t", "d'agua don't"],
    ['an address', 'see https://example.com/track?id=ab12', 'example.com/track ab12'],
    ['emoji between words', 'obrigado🙏🏽ate logo', 'ate logo obrigado'],
    ['another script', 'Где мой заказ? 订单 在哪里', 'заказ 订单'],
  ])('are found with %s', (_title, text, asked) => {
    expect(messageWords([text])).toEqual(expect.arrayContaining(searchWords(asked)))
  })

  test('are bounded in number and length', () => {
    const words = messageWords([Array.from({ length: 500 }, (_, n) => `word${n}`).join(' ')])
    expect(words).toHaveLength(128)
    expect(messageWords(['x'.repeat(10_000)])).toEqual(['x'.repeat(32)])
    expect(searchWords('x'.repeat(100))).toEqual(['x'.repeat(32)])
    expect(messageWords(['', ' ', '🙏 !?'])).toEqual([])
  })
})

describe('an excerpt', () => {
  test('is a line around the first of the words', () => {
    const before = 'one two three four five six seven eight nine ten eleven twelve '
    expect(excerptAround(`${before}Água\n parada `, ['agua'])).toBe(
      '…four five six seven eight nine ten eleven twelve Água parada',
    )
    expect(excerptAround('Where is\nmy  parcel?', ['parc'])).toBe('Where is my parcel?')
    expect(excerptAround('nothing of it', ['other'])).toBe('nothing of it')
  })

  test('has 162 characters at most, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 2_000 }),
        fc.string({ maxLength: 10 }),
        (text, word) => {
          const excerpt = excerptAround(text, searchWords(word))
          expect(excerpt.length).toBeLessThanOrEqual(162)
          expect(excerpt.isWellFormed()).toBe(true)
          expect(excerpt).not.toMatch(/\n/)
        },
      ),
    )
  })
})
