import { describe, expect, test } from '@jest/globals'
import { administeredWorkspace } from './administered-workspace.ts'

const workspace = administeredWorkspace()
const { addUser, as, asAdmin, login } = workspace

describe('a new password', () => {
  const change = (token: string, currentPassword: string, newPassword: string) =>
    as(token)('POST', '/api/auth/password', { currentPassword, newPassword })

  test('ends every other session', async () => {
    const user = await addUser('MEMBER')
    const other = await login(user.username, user.password)
    expect((await change(user.token, 'wrong', 'new password')).json.code).toBe('invalid_credentials')
    expect((await change(user.token, user.password, '')).status).toBe(422)
    expect((await change(user.token, user.password, 'new password')).json).toEqual({ changed: true })
    expect((await as(user.token)('POST', '/api/auth/me')).status).toBe(200)
    await expect(as(other)('POST', '/api/auth/me')).rejects.toThrow('is not valid')
    expect(await login(user.username, user.password)).toBeUndefined()
    expect(await login(user.username, 'new password')).toEqual(expect.any(String))
  })

  test('is not for API tokens', async () => {
    const { json } = await asAdmin('POST', '/api/auth/tokens', { name: 'x', role: workspace.admin.role })
    expect((await change(json.token, 'correct horse battery staple', 'x')).status).toBe(403)
  })
})
