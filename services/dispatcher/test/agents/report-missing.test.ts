import { expect, test } from '@jest/globals'
import { createReportMissing } from '../../src/agents/tools/report-missing.ts'

/** Reports to a configuration that can be unavailable, and what arrived there. */
function startReporting() {
  const marks: object[] = []
  let isDown = false
  const report = createReportMissing({
    configuration: {
      async post(path: string, mark: object) {
        if (isDown) throw new Error('configuration is unavailable')
        marks.push({ path, ...mark })
        return undefined as never
      },
    },
    log: { warn: () => {} },
  })
  return {
    ...{ report, marks },
    setDown(value: boolean) {
      isDown = value
    },
  }
}

const action = { workspace: 7, _id: 50, version: 1 }
const path = '/internal/workspaces/7/actions/50/tools'

test('an action whose tools are all there, and that is not marked, is told to nobody', () => {
  const { report, marks } = startReporting()
  report(action, [])
  expect(marks).toEqual([])
})

test('what is missing is told once, anew where it is something else, and until nothing is', () => {
  const { report, marks } = startReporting()
  for (const missing of [['a'], ['a'], ['b']]) report(action, missing)
  const marked = { ...action, version: 2, missing: ['b'] }
  for (const missing of [['b'], [], []]) report(marked, missing)
  report({ ...action, version: 3 }, [])
  expect(marks).toEqual([
    { path, missing: ['a'] },
    { path, missing: ['b'] },
    { path, missing: [] },
  ])
})

test('no more is told than is marked', () => {
  const { report, marks } = startReporting()
  report(action, Array(60).fill('x'.repeat(2_000)))
  const [{ missing }] = marks as [{ missing: string[] }]
  expect([missing.length, missing[0]?.length]).toEqual([50, 500])
})

test('what configuration did not take is told again', async () => {
  const { report, marks, setDown } = startReporting()
  setDown(true)
  report(action, ['a'])
  await new Promise(setImmediate)
  setDown(false)
  report(action, ['a'])
  expect(marks).toEqual([{ path, missing: ['a'] }])
})
