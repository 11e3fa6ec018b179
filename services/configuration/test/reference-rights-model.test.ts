import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { MODEL_RUNS } from '../../../tests/sizes.ts'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const ROUNDS = 5 * MODEL_RUNS
const server = configurationForTests({
  roles: {
    LOW_ACTIONS: [
      { schema: "{{resource}} == 'assistant'", read: 'true', write: 'true' },
      { schema: "{{resource}} == 'actions'", read: '{{doc._id}} <= 3', write: '' },
    ],
  },
})
const { actions: _actions, configs: _configs, job: _job, ...plain } = bodies.assistant

const call = async (role: string | undefined, method: string, path: string, body?: unknown) =>
  server.call(method, `/rest/${path}`, { ...(role && { role }), ...(body !== undefined && { body }) })

test('of any writes, those are accepted that add only what their writer may read', async () => {
  for (const id of [1, 2, 4, 5]) await call(undefined, 'PUT', `actions/${id}`, bodies.actions)
  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 4 })
  const step = fc.record({ isAdmin: fc.boolean(), method: fc.constantFrom('PUT', 'PATCH'), actions: ids })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      let stored: number[] = []
      await call(undefined, 'PUT', 'assistant/330', { ...plain, actions: stored })
      for (const { isAdmin, method, actions } of steps) {
        const body = method === 'PUT' ? { ...plain, actions } : { actions }
        const { status } = await call(isAdmin ? undefined : 'LOW_ACTIONS', method, 'assistant/330', body)
        const isAllowed = isAdmin || actions.every((id) => stored.includes(id) || id === 1 || id === 2)
        expect(status).toBe(isAllowed ? 200 : 403)
        if (isAllowed) stored = actions
      }
    }),
    { numRuns: ROUNDS },
  )
})

test('what is taken away at the same moment is not put back by somebody who may not read it', async () => {
  await call(undefined, 'PUT', 'actions/5', bodies.actions)
  for (let round = 0; round < ROUNDS; round++) {
    const named = { ...plain, actions: [5] }
    await call(undefined, 'PUT', 'assistant/340', named)
    const [taken] = await Promise.all([
      call(undefined, 'PATCH', 'assistant/340', { actions: [] }),
      call('LOW_ACTIONS', 'PUT', 'assistant/340', named),
      call('LOW_ACTIONS', 'PATCH', 'assistant/340', { actions: [5], name: 'mine' }),
    ])
    expect(taken.status).toBe(200)
    expect((await call(undefined, 'GET', 'assistant/340')).json.actions).toEqual([])
  }
})
