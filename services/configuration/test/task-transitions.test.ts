import { describe, expect, test } from '@jest/globals'
import { TASK_STATUSES, type TaskStatus } from '@parley/shared/documents/workflow'
import type { JsonObject } from '@parley/shared/json-object'
import fc from 'fast-check'
import { task as definition } from '../src/resources/task.ts'
import { type Actor, isTransition } from '../src/resources/task-transitions.ts'
import { advance } from '../src/tasks/apply-submission.ts'
import { bodies } from './bodies.ts'

const OPEN = ['active', 'pending', 'failed']

describe('the table', () => {
  test.each([undefined, ...TASK_STATUSES])(
    'a caller takes a task from %s to what is open, or leaves it',
    (from) => {
      const allowed = TASK_STATUSES.filter((to) => isTransition({ by: 'caller', from, to }))
      expect(allowed).toEqual(from === undefined || OPEN.includes(from) ? OPEN : [...OPEN, from])
    },
  )

  test.each([
    [undefined, ['active', 'completed']],
    ['active', ['active', 'completed', 'cancelled']],
    ['pending', []],
    ['failed', []],
    ['completed', []],
    ['cancelled', []],
  ] as const)('the runtime takes a task from %s to %j', (from, allowed) => {
    expect(TASK_STATUSES.filter((to) => isTransition({ by: 'runtime', from, to }))).toEqual(allowed)
  })
})

describe('a submission', () => {
  const task = { ...bodies.tasks, currentStep: 7, context: { a: 1, steps: { 3: { old: true } } } }
  const submit = { name: 'Ana' }
  const context = { a: 1, steps: { 3: { old: true }, 7: submit } }

  test.each([
    ['a submission moves the task to the next step', { step: { next: 8 } }, { currentStep: 8, context }],
    ['a submission moves the task to step 0', { step: { next: 0 } }, { currentStep: 0, context }],
    ['completes the task after the last step', { step: { next: null } }, { status: 'completed', context }],
    ['completes the task where next was left out', { step: {} }, { status: 'completed', context }],
    ['stays at a step that is not there', { step: undefined }, { context }],
    ['cancels the task of a deleted workflow', { workflowDeleted: true }, { status: 'cancelled', context }],
  ])('%s, and is recorded', (_what, meeting, changed) => {
    const after = advance({ task, submit, step: { next: 8 }, workflowDeleted: false, ...meeting })
    expect(after).toEqual({ ...task, ...changed })
    expect(Object.keys(after)).toEqual(Object.keys(task))
  })

  test.each([
    [{ cancel: true }, 'cancelled'],
    [{ cancel: 'true' }, 'active'],
    [{ cancel: { cancel: true } }, 'active'],
  ])('%j leaves the task %s', (submit, status) => {
    const after = advance({ task, submit, step: { next: 8 }, workflowDeleted: false })
    expect(after).toMatchObject({ status, context: { steps: { 7: submit } } })
  })

  test.each([null, undefined, {}, { steps: null }, { steps: [1] }, { steps: 'none' }])(
    'a submission is recorded in the context %j without valid steps',
    (context) => {
      const after = advance({ task: { ...task, context }, submit, step: {}, workflowDeleted: false })
      expect(after.context).toEqual({ steps: { 7: submit } })
    },
  )

  test('a submission does not change a __proto__ in the context', () => {
    const context = JSON.parse('{"__proto__":{"a":1},"steps":{"__proto__":2}}')
    const after = advance({ task: { ...task, context }, submit, step: {}, workflowDeleted: false })
    expect(JSON.stringify(after.context)).toBe(
      '{"__proto__":{"a":1},"steps":{"7":{"name":"Ana"},"__proto__":2}}',
    )
  })
})

type Move =
  | { by: Actor; to: TaskStatus }
  | { submit: JsonObject; step: JsonObject | undefined; deleted: boolean }

const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ by: fc.constantFrom('caller', 'runtime'), to: fc.constantFrom(...TASK_STATUSES) }),
  fc.record({
    submit: fc.record({ cancel: fc.boolean() }),
    step: fc.option(fc.record({ next: fc.option(fc.nat(5)) }), { nil: undefined }),
    deleted: fc.boolean(),
  }),
)

test('whatever callers and the runtime try, in whatever order, no task leaves the table of transitions', () => {
  fc.assert(
    fc.property(fc.array(move, { maxLength: 30 }), (moves) => {
      let task: JsonObject | undefined
      for (const each of moves) {
        const by = 'by' in each ? each.by : 'runtime'
        const to = next(task, each)
        const errors = definition.errorsOfChange?.({ by, from: task, to, sent: to })
        const from = task?.status as TaskStatus | undefined
        expect(errors?.length).toBe(isTransition({ by, from, to: to.status as TaskStatus }) ? 0 : 1)
        if (errors?.length === 0) task = to
        // An end is left by a caller only.
        if (by === 'runtime' && (from === 'completed' || from === 'cancelled'))
          expect(task?.status).toBe(from)
        if (by === 'caller' && !OPEN.includes(String(task?.status ?? 'active')))
          expect(task?.status).toBe(from)
      }
    }),
    { numRuns: 500 },
  )
})

function next(task: JsonObject | undefined, move: Move): JsonObject {
  if ('to' in move) return { ...bodies.tasks, ...task, status: move.to }
  const { submit, step, deleted: workflowDeleted } = move
  return advance({ task: task ?? bodies.tasks, submit, step, workflowDeleted })
}
