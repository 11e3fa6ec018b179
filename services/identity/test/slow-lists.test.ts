import { expect, test } from '@jest/globals'
import { administeredWorkspace } from './administered-workspace.ts'

const { asAdmin, identity } = administeredWorkspace()

test('lists have a time by which the database gives them up', async () => {
  const { database } = identity
  await database.command({ profile: 2 })
  for (const path of ['/rest/users', '/rest/roles', '/rest/audit', '/api/auth/tokens', '/rest/invitations'])
    expect((await asAdmin('GET', path)).status).toBe(200)
  await database.command({ profile: 0 })
  const lists = await database
    .collection('system.profile')
    .find({ 'command.batchSize': 25 })
    .project({ _id: 0, 'command.find': 1, 'command.maxTimeMS': 1 })
    .toArray()
  expect(lists.length).toBeGreaterThan(4)
  expect(lists.filter(({ command }) => command.maxTimeMS !== 5_000)).toEqual([])
})
