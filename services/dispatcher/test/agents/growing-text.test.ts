import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { GrowingText } from '../../src/agents/model/growing-text.ts'

test('a text is what its pieces say, wherever they are cut', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 9 })), fc.nat({ max: 9 }), (pieces, at) => {
      // Cut within characters, too.
      const cut = pieces.flatMap((piece) => [piece.slice(0, at), piece.slice(at)])
      const text = new GrowingText(pieces.join('').length)
      for (const piece of cut) text.append(piece)
      expect(text.toString()).toBe(pieces.join(''))
      expect(text).toHaveLength(pieces.join('').length)
    }),
  )
})
