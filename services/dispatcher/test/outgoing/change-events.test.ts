import { expect, test } from '@jest/globals'
import { eventsOfChange } from '@parley/dispatcher/outgoing/consume-changes'
import type { DocumentChange } from '@parley/shared/document-change'

const change = (fields: Partial<DocumentChange>): DocumentChange => ({
  ...{
    resource: 'tasks',
    workspace: 1,
    _id: 5,
    version: 3,
    operation: 'updated',
    at: '2026-01-01T00:00:00.000Z',
  },
  ...{ by: { _id: 0, username: 'runtime' }, document: {}, ...fields },
})
const typesOf = (fields: Partial<DocumentChange>) => eventsOfChange(change(fields)).map(({ type }) => type)
const task = (status: string, currentStep: number, steps: string[] = []) => ({
  ...{ status, currentStep, context: { steps: Object.fromEntries(steps.map((step) => [step, {}])) } },
})
const before = (status: string, currentStep: number, steps: string[] = []) => ({ status, currentStep, steps })
const byCaller = { _id: 7, username: 'ana@example.com' }

test('a task that is made is started, and one that its first answer ends has all of its events', () => {
  const made = { operation: 'created', version: 1 } as const
  expect(typesOf({ ...made, by: byCaller, document: task('active', 1) })).toEqual([
    ...['configuration.tasks.created', 'task.started'],
  ])
  expect(typesOf({ ...made, document: task('completed', 1, ['1']) })).toEqual([
    ...['configuration.tasks.created', 'task.started', 'task.step_completed', 'task.completed'],
  ])
})

test('an answer that moves a task completes a step, one of its last step the task too', () => {
  expect(typesOf({ document: task('active', 2, ['1']), before: before('active', 1) })).toEqual([
    ...['configuration.tasks.updated', 'task.step_completed'],
  ])
  expect(typesOf({ document: task('completed', 2, ['1', '2']), before: before('active', 2, ['1']) })).toEqual(
    [...['configuration.tasks.updated', 'task.step_completed', 'task.completed']],
  )
})

test('a change of a task that leaves it where it is has no event of tasks', () => {
  expect(typesOf({ by: byCaller, document: task('failed', 1), before: before('failed', 1) })).toEqual([
    'configuration.tasks.updated',
  ])
})

test('a task that somebody sets to failed has failed', () => {
  expect(typesOf({ by: byCaller, document: task('failed', 1), before: before('active', 1) })).toEqual([
    ...['configuration.tasks.updated', 'task.failed'],
  ])
})

test('events have masked secrets', () => {
  const [event] = eventsOfChange(
    change({
      resource: 'channels',
      document: { config: { accessToken: 'sealed:k1:abc', phoneNumberId: '1' } },
    }),
  )
  expect(event?.data.document).toEqual({ config: { accessToken: '••••', phoneNumberId: '1' } })
})

test('a subscription that the runtime turned off is told to the others, one that a person turned off is not', () => {
  const document = {
    name: 'Old',
    url: 'https://old.example.com/',
    active: false,
    disabled: { at: 'x', reason: 'y' },
  }
  const events = eventsOfChange(change({ resource: 'subscriptions', document }))
  expect(events.map(({ type, toOthers }) => [type, toOthers])).toEqual([
    ['configuration.subscriptions.updated', undefined],
    ['subscription.disabled', true],
  ])
  expect(typesOf({ resource: 'subscriptions', document, by: byCaller })).toEqual([
    'configuration.subscriptions.updated',
  ])
})
