import { describe, expect, test } from '@jest/globals'
import { TASK_SUBMISSION_TYPE } from '@parley/shared/task-submission'
import { readSubmission } from '../src/tasks/consume-submissions.ts'

const submission = (submit: object) => ({
  workspace: 1,
  messageId: 'm',
  channelId: 2,
  assistantId: null,
  thread: 't',
  submit,
  at: '2026-01-01T00:00:00.000Z',
})
const delivery = (body: unknown, type: string = TASK_SUBMISSION_TYPE) =>
  ({ content: Buffer.from(JSON.stringify(body)), properties: { type } }) as never

describe('a submission', () => {
  test('a submission is read with whatever keys its answer had', () => {
    for (const key of ['a\\', 'a\n', 'a\\', 'a\n', '__proto__']) {
      const submit = Object.fromEntries([
        ['first', 1],
        [key, [{ second: 2 }]],
      ])
      expect(readSubmission(delivery(submission(submit)))).toEqual({
        kind: 'submission',
        submission: submission(submit),
      })
    }
  })

  test.each([
    ['of another version', delivery(submission({}), 'task.submitted.v2'), 'task.submitted.v2'],
    ['without a thread', delivery({ ...submission({}), thread: undefined }), '/thread'],
    ['that is no JSON', { content: Buffer.from('{'), properties: { type: TASK_SUBMISSION_TYPE } }, 'field /'],
  ])('%s is rejected, and says why', (_name, given, reason) => {
    expect(readSubmission(given as never)).toEqual({
      kind: 'rejected',
      reason: expect.stringContaining(reason),
    })
  })
})
