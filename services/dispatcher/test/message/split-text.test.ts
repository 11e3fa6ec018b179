import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { endingAtWord, splitText } from '../../src/message/split-text.ts'

/** Without its white space, which may go where a text is cut. */
const solid = (text: string) => text.replaceAll(/\s/g, '')

describe('a text in parts', () => {
  test('is the text but for the white space at the cuts, in parts within the limit, on whole characters', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ' ',
        '\n',
        '\n\n',
        '\r\n',
        '\u00a0',
        '👩‍👩‍👧',
        '🇧🇷',
        'e\u0301',
        ' \u0301',
        '\ud83d\ude00',
      ),
      fc.string({ unit: 'grapheme', maxLength: 30 }),
    )
    const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(text, fc.integer({ min: 30, max: 60 }), (whole, limit) => {
        const parts = splitText(whole, limit)
        let at = 0
        for (const part of parts) {
          const begins = whole.indexOf(part, at)
          expect(solid(whole.slice(at, begins))).toBe('')
          at = begins + part.length
          expect([part.length <= limit, part.isWellFormed()]).toEqual([true, true])
        }
        expect(solid(whole.slice(at))).toBe('')
        expect(parts.length).toBeLessThanOrEqual(1 + (4 * whole.length) / limit)
      }),
    )
  })

  test('is cut between paragraphs rather than lines, lines rather than words, and words rather than characters', () => {
    expect(splitText('one two\nthree\n\nfour\nfive', 20)).toEqual(['one two\nthree', 'four\nfive'])
    expect(splitText('one two\nthree four', 14)).toEqual(['one two', 'three four'])
    expect(splitText('one two three', 12)).toEqual(['one two', 'three'])
    expect(splitText('a bcdefghijkl', 12)).toEqual(['a', 'bcdefghijkl'])
    expect(splitText('abcdefgh', 3)).toEqual(['abc', 'def', 'gh'])
  })

  test('has no small part for a paragraph or a line that ends early', () => {
    expect(splitText('A\n\nbcd efg hij', 10)).toEqual(['A\n\nbcd efg', 'hij'])
  })

  test('is never cut inside of a character, except one that is longer than a part', () => {
    expect(splitText('abc👩‍👩‍👧d', 10)).toEqual(['abc', '👩‍👩‍👧d'])
    expect(splitText('abcde\u0301f', 5)).toEqual(['abcd', 'e\u0301f'])
    expect(splitText('👩‍👩‍👧', 3)).toEqual(['👩\u200d', '👩\u200d', '👧'])
  })

  test('stays whole where it would be more than 50', () => {
    expect(splitText('a'.repeat(500), 10)).toHaveLength(50)
    expect(splitText('a'.repeat(501), 10)).toEqual(['a'.repeat(501)])
  })

  test('stays as it is within the limit, and is nothing where it is white space beyond it', () => {
    expect([splitText(' a \n', 4), splitText(' '.repeat(9), 4), splitText('', 4)]).toEqual([
      [' a \n'],
      [],
      [],
    ])
  })

  test('is cut after a sentence rather than in one, and between sentences without blanks', () => {
    expect(splitText('One two three. Four five six', 20)).toEqual(['One two three.', 'Four five six'])
    expect(splitText('一二三四五六。七八九十', 9)).toEqual(['一二三四五六。', '七八九十'])
    expect(splitText('He said "no." Then he went', 20)).toEqual(['He said "no."', 'Then he went'])
  })

  test('is not cut between the marks of one markup, or in code, where there is another place', () => {
    expect(splitText('aa bb *cc dd ee* ff', 14)).toEqual(['aa bb', '*cc dd ee* ff'])
    expect(splitText('a b\n```\nc d\ne f\n```\ng', 16)).toEqual(['a b', '```\nc d\ne f\n```', 'g'])
    expect(splitText('a_b c_d e_f', 8)).toEqual(['a_b c_d', 'e_f'])
    expect(splitText('*aa bb cc dd*', 8)).toEqual(['*aa bb', 'cc dd*'])
  })

  test('has its URLs whole, also where nothing else is around them', () => {
    const url = 'https://example.com/a/b'
    expect(splitText(`文文文文文${url}`, 25)).toEqual(['文文文文文', url])
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(url, 'word', '*b c*', 'One.', '\n', '文。'), { maxLength: 40 }),
        (words) => {
          const parts = splitText(words.join(' '), 30)
          expect(parts.flatMap((part) => part.split(/\s+/)).filter((word) => word === url)).toHaveLength(
            words.filter((word) => word === url).length,
          )
        },
      ),
    )
  })

  test('takes time in proportion to it, whatever it is', () => {
    for (const hostile of ['*', '*a ', '_a_ ', '```', '`', '。', ' ', '\n', 'https://']) {
      const began = performance.now()
      splitText(hostile.repeat(Math.ceil(50_000 / hostile.length)), 4_096)
      expect(performance.now() - began).toBeLessThan(2_000)
    }
  })
})

describe('the beginning of a text', () => {
  test.each([
    ['one two three', 5, 'one'],
    ['one two three', 7, 'one two'],
    ['one two', 20, 'one two'],
    ['a'.repeat(300), 200, 'a'.repeat(200)],
    [`x ${'a'.repeat(300)}`, 200, `x ${'a'.repeat(198)}`],
    ['ab😀', 3, 'ab\uFFFD'],
  ])('of %j up to %i ends with a word, or in one that is very long', (given, end, beginning) =>
    expect(endingAtWord(given, end)).toBe(beginning),
  )
})
