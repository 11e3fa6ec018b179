import { expect, test } from '@jest/globals'
import { createReportServer } from '../../src/agents/tools/report-server.ts'

/** Reports to a configuration that can be unavailable, and what arrived there. */
function startReporting() {
  const marks: object[] = []
  const warnings: object[] = []
  let isDown = false
  const report = createReportServer({
    configuration: {
      async post(path: string, mark: object) {
        if (isDown) throw new Error('configuration is unavailable')
        marks.push({ path, ...mark })
        return undefined as never
      },
    },
    log: { warn: (fields: object) => void warnings.push(fields) },
  })
  return {
    ...{ report, marks, warnings },
    setDown(value: boolean) {
      isDown = value
    },
  }
}

const action = { workspace: 7, action: 50, key: '7/50/1' }
const path = '/internal/workspaces/7/actions/50/server'

test('a failure of a listing is told with the second in a row, and once', () => {
  const { report, marks } = startReporting()
  report(action, 'no answer')
  expect(marks).toEqual([])
  for (let again = 0; again < 3; again++) report(action, 'no answer')
  expect(marks).toEqual([{ path, state: 'failing', reason: 'no answer' }])
})

test('one that comes between two listings that work is told to nobody', () => {
  const { report, marks } = startReporting()
  for (const failure of [undefined, 'no answer', undefined, 'no answer']) report(action, failure)
  expect(marks).toEqual([
    { path, state: 'working' },
    { path, state: 'working' },
  ])
})

test('one that somebody asked for is told at once, and that it is over, too', () => {
  const { report, marks } = startReporting()
  report(action, '401', { isAsked: true })
  report(action, undefined)
  expect(marks).toEqual([
    { path, state: 'failing', reason: '401' },
    { path, state: 'working' },
  ])
})

test('actions of different workspaces are told apart', () => {
  const { report, marks } = startReporting()
  report(action, 'no answer')
  report({ ...action, workspace: 8, key: '8/50/1' }, 'no answer')
  expect(marks).toEqual([])
})

test('a failure of another version is told, too: it may be of another server', () => {
  const { report, marks } = startReporting()
  for (const key of ['7/50/1', '7/50/2']) report({ ...action, key }, 'no answer', { isAsked: true })
  expect(marks).toHaveLength(2)
})

test('what configuration did not take is told with the next listing', async () => {
  const { report, marks, warnings, setDown } = startReporting()
  setDown(true)
  report(action, '401', { isAsked: true })
  await Promise.resolve()
  await new Promise(setImmediate)
  expect(warnings).toEqual([{ workspace: 7, action: 50, reason: 'configuration is unavailable' }])
  setDown(false)
  report(action, '401', { isAsked: true })
  await new Promise(setImmediate)
  expect(marks).toEqual([{ path, state: 'failing', reason: '401' }])
})
