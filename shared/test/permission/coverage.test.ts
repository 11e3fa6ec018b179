import { expect, test } from '@jest/globals'
import type { Caller } from '@parley/shared/internal-token'
import { createCoverage } from '@parley/shared/permission/coverage'
import type { PermissionEntry } from '@parley/shared/permission/entry'

const grantor: Caller = {
  account: { _id: 1, username: 'a@example.com', name: 'Ana', profile: 1, context: { level: 1 } },
  workspace: { _id: 7, name: 'Team', namespace: 'team', host: 'team.localhost' },
  role: { _id: 2, name: 'LEADER', version: 1 },
}
const ROLES: Record<string, PermissionEntry[]> = {
  '2/1': [{ schema: 'true', read: '{{account.context.level}} == 1', write: '' }],
  '2/2': [],
  '3/1': [{ schema: "{{resource}} == 'orders'", read: 'true' }],
  '3/2': [{ schema: "{{resource}} == 'orders'", read: 'true', write: 'true' }],
}

function coverage() {
  const asked: string[] = []
  const covers = createCoverage(async ({ _id, version }) => {
    asked.push(`${_id}/${version}`)
    return ROLES[`${_id}/${version}`]
  })
  return { asked, covers }
}

test('two versions of roles are compared once', async () => {
  const { asked, covers } = coverage()
  for (let times = 0; times < 3; times++) expect(await covers(grantor, { _id: 3, version: 1 })).toBe(true)
  expect(asked).toEqual(['2/1', '3/1'])
  for (let times = 0; times < 3; times++) expect(await covers(grantor, { _id: 3, version: 2 })).toBe(false)
  expect(asked).toEqual(['2/1', '3/1', '2/1', '3/2'])
})

test('another version of the role or another account has a verdict of its own', async () => {
  const { covers } = coverage()
  const given = { _id: 3, version: 1 }
  expect(await covers(grantor, given)).toBe(true)
  expect(await covers({ ...grantor, role: { ...grantor.role, version: 2 } }, given)).toBe(false)
  expect(await covers({ ...grantor, account: { ...grantor.account, context: { level: 2 } } }, given)).toBe(
    false,
  )
  expect(await covers(grantor, given)).toBe(true)
})

test('nothing is covered that does not exist', async () => {
  const { covers } = coverage()
  expect(await covers(grantor, { _id: 9, version: 1 })).toBe(false)
  expect(await covers({ ...grantor, role: { ...grantor.role, version: 9 } }, { _id: 3, version: 1 })).toBe(
    false,
  )
})
