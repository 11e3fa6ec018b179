import { expect } from '@jest/globals'
import fc from 'fast-check'
import { MODEL_RUNS } from '../../../../tests/sizes.ts'

const SIDE_BY_SIDE = 8

/** A system that a list of commands runs on, which says what did not hold once all has ended. */
interface Observed {
  settle(): Promise<void>
  violations: string[]
}

type Commands<Real extends Observed> = fc.Arbitrary<Iterable<fc.AsyncCommand<object, Real>>>

/** Runs random lists of commands, several at once since most of a run is waiting, each on a system of its own. */
export async function checkSideBySide<Real extends Observed>(
  commands: Commands<Real>,
  start: () => Real,
): Promise<void> {
  const violationsAfter = async (own: Iterable<fc.AsyncCommand<object, Real>>): Promise<string[]> => {
    const real = start()
    try {
      await fc.asyncModelRun(() => ({ model: {}, real }), own)
    } finally {
      await real.settle()
    }
    return real.violations
  }
  const sideBySide = fc.tuple(...Array.from({ length: SIDE_BY_SIDE }, () => commands))
  const property = fc.asyncProperty(sideBySide, async (lists) => {
    const outcomes = await Promise.all(lists.map(violationsAfter))
    expect(outcomes.flat()).toEqual([])
  })
  await fc.assert(property, { numRuns: MODEL_RUNS, endOnFailure: true })
}
