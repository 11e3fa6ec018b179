import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { CallError } from '../../src/channels/http/call-error.ts'
import { ResponseMemory } from '../../src/channels/http/response-memory.ts'

const MAX_BYTES = 100

/** Steps on responses, one after the other: a response uses this many bytes, or closes (undefined). */
const steps = fc.array(
  fc.record({ response: fc.nat({ max: 7 }), bytes: fc.option(fc.nat({ max: 60 }), { nil: undefined }) }),
  { maxLength: 60 },
)

test('responses have no more together than there is; the largest makes room, and nobody else', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const memory = new ResponseMemory(MAX_BYTES)
      const used = new Map<number, number>()
      const over = new Set<number>()
      const shares = Array.from({ length: 8 }, (_, response) =>
        memory.share((error) => {
          expect(error).toBeInstanceOf(CallError)
          expect(over.has(response)).toBe(false)
          expect(sum(used)).toBeGreaterThan(MAX_BYTES)
          expect(used.get(response)).toBe(Math.max(...used.values()))
          used.delete(response)
          over.add(response)
        }),
      )
      for (const { response, bytes } of all) {
        if (bytes === undefined) {
          used.delete(response)
          over.add(response)
          shares[response]?.close()
        } else {
          if (!over.has(response)) used.set(response, bytes)
          shares[response]?.use(bytes)
        }
        expect(sum(used)).toBeLessThanOrEqual(MAX_BYTES)
      }
    }),
  )
})

const sum = (used: Map<number, number>): number => [...used.values()].reduce((all, bytes) => all + bytes, 0)
